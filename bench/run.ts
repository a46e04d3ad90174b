/**
 * `npm run bench -- [PART...] [--quick | --full]`: see README.md. A wrong reply fails the run. A
 * figure that misses its target does not.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeEnvironment } from './environment.ts';
import { answerFigures } from './figures.ts';
import { parseOptions } from './options.ts';
import type { Bench, Part } from './part.ts';
import { type PartName, type PartResults, parts, type Settings } from './parts.ts';
import { type BenchResult, renderReport } from './report.ts';

const { names, form, settings } = parseOptions(process.argv.slice(2));

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

for (const name of names) {
  await runPart(name);
  // After each part, so that an interrupted run leaves its results.
  result.figures = answerFigures(result.parts);
  writeFileSync(join(resultsDirectory, 'latest.json'), `${JSON.stringify(result, null, 2)}\n`);
}
console.log(`\n${renderReport(result)}\n\nwritten to bench/results`);

async function runPart<Name extends PartName>(name: Name): Promise<void> {
  bench.progress(`--- ${name} ---`);
  const { measure, renderPlot }: Part<Settings[Name], PartResults[Name]> = parts[name];
  const partResult = await measure(settings[name], bench);
  result.parts[name] = partResult;
  const plot = renderPlot?.(partResult, result.environment);
  if (plot) writeFileSync(join(resultsDirectory, `${name}.svg`), plot);
}
