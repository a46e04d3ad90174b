import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import type { LoadSettings } from './parts/load.ts';
import { type PartName, partNames } from './parts.ts';
import { type FormName, forms, type Settings } from './settings.ts';
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
  const named = positionals.map(partName);
  return {
    names: named.length === 0 ? partNames : partNames.filter((name) => named.includes(name)),
    form,
    settings: { ...forms[form], load: { ...forms[form].load, ...loadSettings(values) } },
  };
}

/** What has been said of `load`. */
function loadSettings({
  rounds,
  seconds,
  connections,
  targets,
}: LoadValues): Partial<LoadSettings> {
  return {
    ...(rounds && { rounds: positive('--rounds', rounds) }),
    ...(seconds && { measureMs: 1000 * positive('--seconds', seconds) }),
    ...(connections && { connections: descending('--connections', connections.split(',')) }),
    ...(targets && { targets: targets.split(',').map(targetName) }),
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

function partName(text: string): PartName {
  assert(
    partNames.includes(text as PartName),
    `the parts are ${partNames.join(', ')}, not ${text}`,
  );
  return text as PartName;
}

function targetName(text: string): TargetName {
  assert(
    Object.hasOwn(targets, text),
    `--targets takes ${Object.keys(targets).join(', ')}, not ${text}`,
  );
  return text as TargetName;
}
