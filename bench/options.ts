import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { type PartName, partNames, type Settings } from './parts.ts';
import { type FormName, forms } from './settings.ts';
import { type TargetName, targets } from './targets.ts';

const options = {
  quick: { type: 'boolean' },
  full: { type: 'boolean' },
  rounds: { type: 'string' },
  seconds: { type: 'string' },
  connections: { type: 'string' },
  targets: { type: 'string' },
} as const;

type LoadValues = Partial<Record<'rounds' | 'seconds' | 'connections' | 'targets', string>>;

export interface Options {
  names: PartName[];
  form: FormName;
  settings: Settings;
}

export function parseOptions(args: string[]): Options {
  const { values, positionals } = parseArgs({ args, allowPositionals: true, options });
  const form = values.quick ? 'quick' : values.full ? 'full' : 'default';
  const named = positionals.map((text) => oneOf(partNames, text, 'a part'));
  return {
    names: named.length === 0 ? partNames : partNames.filter((name) => named.includes(name)),
    form,
    settings: { ...forms[form], load: { ...forms[form].load, ...loadSettings(values) } },
  };
}

/** The settings of the part `load` that the options change. */
function loadSettings(values: LoadValues): Partial<Settings['load']> {
  const { rounds, seconds, connections, targets: names } = values;
  const targetNames = Object.keys(targets) as TargetName[];
  return {
    ...(rounds && { rounds: positive('--rounds', rounds) }),
    ...(seconds && { measureMs: 1000 * positive('--seconds', seconds) }),
    ...(connections && { connections: descending('--connections', connections.split(',')) }),
    ...(names && {
      targets: names.split(',').map((text) => oneOf(targetNames, text, '--targets')),
    }),
  };
}

function descending(flag: string, texts: string[]): number[] {
  return texts.map((text) => positive(flag, text)).sort((a, b) => b - a);
}

function positive(flag: string, text: string): number {
  const value = Number(text);
  assert(value > 0, `${flag} takes positive numbers, not ${text}`);
  return value;
}

function oneOf<Name extends string>(names: Name[], text: string, what: string): Name {
  const found = names.find((name) => name === text);
  assert(found, `${what} is one of ${names.join(', ')}, not ${text}`);
  return found;
}
