/**
 * `npm run bench -- [PART...] [--quick | --full]`: see README.md. Figures that are not met do not
 * fail the run; a wrong answer does.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeEnvironment } from './environment.ts';
import { answerFigures } from './figures.ts';
import { parseOptions } from './options.ts';
import type { Bench, Part } from './part.ts';
import { type PartName, type PartResults, parts } from './parts.ts';
import { renderReport } from './report.ts';
import type { BenchResult } from './result.ts';
import type { Settings } from './settings.ts';

// Beside the results and not in the system's temporary directory, which often is in memory, where
// an fsync costs nothing.
const resultsDirectory = join(import.meta.dirname, 'results');
mkdirSync(resultsDirectory, { recursive: true });
const directory = mkdtempSync(join(resultsDirectory, 'stores-'));
process.once('exit', () => rmSync(directory, { recursive: true, force: true }));
process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));

const { names, form, settings } = parseOptions(process.argv.slice(2));
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
  // After each part, so that a long run that is broken off leaves what it has measured.
  result.figures = answerFigures(result.parts);
  writeFileSync(join(resultsDirectory, 'latest.json'), `${JSON.stringify(result, null, 2)}\n`);
}
console.log(`\n${renderReport(result)}\n\nwritten to bench/results`);

async function runPart<Name extends PartName>(name: Name): Promise<void> {
  bench.progress(`--- ${name} ---`);
  const { measure, renderPlot }: Part<Settings[Name], PartResults[Name]> = parts[name];
  const partResult = await measure(settings[name], bench);
  result.parts[name] = partResult;
  if (renderPlot)
    writeFileSync(
      join(resultsDirectory, `${name}.svg`),
      renderPlot(partResult, result.environment),
    );
}
