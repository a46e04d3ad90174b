/** `npm run bench [-- --quick]`: see README.md. Figures that are not met do not fail the run; a wrong answer does. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeEnvironment } from './environment.ts';
import { answerFigures } from './figures.ts';
import { newPlantBytes } from './plant.ts';
import { renderPlot } from './plot.ts';
import { renderReport } from './report.ts';
import type { BenchResult } from './result.ts';
import { measureRounds, type Settings } from './rounds.ts';
import { spread } from './statistics.ts';
import { summarize, summarizeGenerator } from './summary.ts';
import { type TargetName, targets } from './targets.ts';

const settings = parseSettings(process.argv.slice(2));
// Beside the results and not in the system's temporary directory, which often is in memory, where an fsync costs nothing.
const resultsDirectory = join(import.meta.dirname, 'results');
mkdirSync(resultsDirectory, { recursive: true });
const storeDirectory = mkdtempSync(join(resultsDirectory, 'stores-'));
process.once('exit', () => rmSync(storeDirectory, { recursive: true, force: true }));
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

const result = await benchmark(settings, storeDirectory);
writeFileSync(join(resultsDirectory, 'latest.json'), `${JSON.stringify(result, null, 2)}\n`);
writeFileSync(join(resultsDirectory, 'latest.svg'), renderPlot(result));
console.log(`\n${renderReport(result)}\n\nwritten to bench/results: latest.json, latest.svg`);

async function benchmark(settings: Settings, storeDirectory: string): Promise<BenchResult> {
  const startedAt = new Date().toISOString();
  const environment = describeEnvironment(storeDirectory);
  const measured = await measureRounds(settings, storeDirectory, (line) => console.error(line));
  return {
    startedAt,
    environment,
    settings,
    newPlantBytes,
    fdatasyncP50Ms: spread(measured.rounds.map((round) => round.fdatasyncP50Ms)),
    rows: summarize(settings, measured),
    generator: summarizeGenerator(measured),
    figures: answerFigures(measured.rounds),
    measured,
  };
}

function parseSettings(args: string[]): Settings {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      connections: { type: 'string', default: '256,64,1' },
      targets: { type: 'string', default: Object.keys(targets).join(',') },
    },
  });
  const { quick } = values;
  return {
    rounds: positive('--rounds', values.rounds ?? (quick ? '1' : '3')),
    measureMs: 1000 * positive('--seconds', values.seconds ?? (quick ? '0.8' : '3.5')),
    warmupMs: quick ? 400 : 1500,
    connections: values.connections
      .split(',')
      .map((count) => positive('--connections', count))
      .sort((a, b) => b - a),
    targets: values.targets.split(',').map(targetName),
  };
}

function positive(flag: string, text: string): number {
  const value = Number(text);
  assert(value > 0, `${flag} takes positive numbers, not ${text}`);
  return value;
}

function targetName(text: string): TargetName {
  assert(Object.hasOwn(targets, text), `--targets takes ${Object.keys(targets).join(', ')}, not ${text}`);
  return text as TargetName;
}
