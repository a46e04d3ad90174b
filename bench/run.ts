/**
 * `npm run bench -- [PART...] [--quick | --full]`: see README.md. A wrong reply fails the run. A
 * figure that misses its target does not.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { answerFigures } from './figures.ts';
import type { Bench, Settings } from './part.ts';
import { type FormName, type PartName, parts, settingsOf } from './parts.ts';
import { renderPlot } from './plot.ts';
import { type BenchResult, describeEnvironment, renderReport } from './report.ts';
import { type TargetName, targets } from './targets.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean' },
    full: { type: 'boolean' },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    connections: { type: 'string' },
    targets: { type: 'string' },
  },
});
const form: FormName = values.quick ? 'quick' : values.full ? 'full' : 'default';
const partNames = Object.keys(parts) as PartName[];
const named = positionals.map((text) => oneOf(partNames, text, 'a part'));
const changes = readChanges();

// The system's temporary directory is often in memory, where a sync costs nothing.
const resultsDirectory = join(import.meta.dirname, 'results');
mkdirSync(resultsDirectory, { recursive: true });
const directory = mkdtempSync(join(resultsDirectory, 'stores-'));
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

const bench: Bench = { directory, progress: (line) => console.error(line) };
const result: BenchResult = {
  startedAt: new Date().toISOString(),
  form,
  environment: describeEnvironment(directory),
  parts: {},
  figures: [],
};

for (const name of partNames) if (isDue(name)) await runPart(name);
console.log(`\n${renderReport(result)}\n\nwritten to bench/results`);

/** The peers take longest, and are built with tools of their own: they run if they are named. */
function isDue(name: PartName): boolean {
  return named.length === 0 ? name !== 'peers' : named.includes(name);
}

async function runPart(name: PartName): Promise<void> {
  bench.progress(`--- ${name} ---`);
  const settings = { ...settingsOf(name, form), ...changes };
  const measured = await parts[name](settings, bench);
  const { rounds, warmupMs, measureMs } = settings;
  const times = `${measureMs / 1000} s after ${warmupMs / 1000} s of warm-up`;
  measured.conditions['rounds'] ??= `${rounds} of ${times}; median (min to max)`;
  result.parts[name] = measured;
  // After each part, so that an interrupted run leaves its results.
  result.figures = answerFigures(result);
  writeFileSync(join(resultsDirectory, 'latest.json'), `${JSON.stringify(result, null, 2)}\n`);
  const plot = renderPlot(measured, result.environment);
  writeFileSync(join(resultsDirectory, `${name}.svg`), plot);
}

function readChanges(): Partial<Settings> {
  const { rounds, seconds, connections, targets: names } = values;
  const targetNames = Object.keys(targets) as TargetName[];
  return {
    ...(rounds && { rounds: positive('--rounds', rounds) }),
    ...(seconds && { measureMs: 1000 * positive('--seconds', seconds) }),
    ...(connections && {
      connections: connections.split(',').map((text) => positive('--connections', text)),
    }),
    ...(names && {
      targets: names.split(',').map((text) => oneOf(targetNames, text, '--targets')),
    }),
  };
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
