import assert from 'node:assert/strict';
import { parseArgs } from 'node:util';
import { type PartName, partNames } from './parts.ts';
import { type FormName, forms, type Settings } from './settings.ts';
import { type TargetName, targets } from './targets.ts';

export interface Options {
  names: PartName[];
  form: FormName;
  settings: Settings;
}

export function parseOptions(args: string[]): Options {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      connections: { type: 'string' },
      targets: { type: 'string' },
    },
  });
  const form = values.quick ? 'quick' : values.full ? 'full' : 'default';
  const { load } = forms[form];
  const { rounds, seconds, connections, targets: names } = values;
  return {
    names: positionals.length === 0 ? partNames : partNames.filter((name) => positionals.map(partName).includes(name)),
    form,
    settings: {
      ...forms[form],
      load: {
        ...load,
        rounds: rounds === undefined ? load.rounds : positive('--rounds', rounds),
        measureMs: seconds === undefined ? load.measureMs : 1000 * positive('--seconds', seconds),
        connections: connections === undefined ? load.connections : descending('--connections', connections.split(',')),
        targets: names === undefined ? load.targets : names.split(',').map(targetName),
      },
    },
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
  assert(partNames.includes(text as PartName), `the parts are ${partNames.join(', ')}, not ${text}`);
  return text as PartName;
}

function targetName(text: string): TargetName {
  assert(Object.hasOwn(targets, text), `--targets takes ${Object.keys(targets).join(', ')}, not ${text}`);
  return text as TargetName;
}
