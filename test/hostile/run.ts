/**
 * `npm run torture:hostile`: everything in this folder in its long form, one file after the other,
 * and what was tried as a table. With `--write` the table goes into docs/results/hostile-input.md. With
 * names of files, only those: `-- http bodies`.
 */
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus } from 'node:os';
import { join } from 'node:path';
import { run } from 'node:test';
import { parseArgs } from 'node:util';
import { parseReport, type Tried } from './scale.ts';

const page = join(import.meta.dirname, '../../docs/results/hostile-input.md');
const [begin, end] = [
  '<!-- results: npm run torture:hostile -- --write -->',
  '<!-- end of results -->',
];

const { values, positionals } = parseArgs({
  options: { write: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const files = globSync(join(import.meta.dirname, '*.test.ts')).filter(
  (file) =>
    positionals.length === 0 || positionals.some((name) => file.endsWith(`/${name}.test.ts`)),
);

process.env['HOSTILE'] = 'long';
const tried: Tried[] = [];
const startedAt = new Date();
let [passed, failed] = [0, 0];

// Each file alone, because the figures in them would disturb each other.
for await (const { type, data } of run({ files: files.sort(), concurrency: false })) {
  if (type === 'test:diagnostic') {
    const one = parseReport(data.message);
    if (one) print(one);
  }
  if (type === 'test:pass') passed += 1;
  if (type === 'test:fail') {
    failed += 1;
    console.error(`FAILED ${data.name}\n${data.details.error.cause ?? data.details.error.message}`);
  }
}

const minutes = ((Date.now() - startedAt.getTime()) / 60_000).toFixed(1);
console.log(`${passed} tests passed, ${failed} failed, in ${minutes} minutes`);
if (failed > 0) process.exitCode = 1;
else if (values.write) writeFileSync(page, withResults(readFileSync(page, 'utf8')));

function print(one: Tried): void {
  tried.push(one);
  console.log(`${one.kind}: ${one.count.toLocaleString('en')}: ${one.outcome}`);
}

function withResults(text: string): string {
  const machine = `${availableParallelism()} cores (${cpus()[0]?.model.trim()}), Node ${process.versions.node}`;
  const rows = tried.map(({ kind, count, outcome }) =>
    `| ${kind} | ${count.toLocaleString('en')} | ${outcome} |`.replaceAll('\n', ' '),
  );
  const results = [
    `${startedAt.toISOString().slice(0, 10)}, ${machine}: ${passed} tests in ${minutes} minutes, none failed.`,
    ['| tried | how many | outcome |', '| --- | ---: | --- |', ...rows].join('\n'),
  ].join('\n\n');
  const [before = '', rest = ''] = text.split(begin);
  return `${before}${begin}\n\n${results}\n\n${end}${rest.split(end)[1]}`;
}
