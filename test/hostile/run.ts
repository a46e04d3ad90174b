/**
 * `npm run torture:hostile`: everything in this folder in its long form, one file after the other,
 * and what was tried. With names of files, only those: `-- http bodies`.
 */
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { run } from 'node:test';
import { parseReport } from './scale.ts';

const positionals = process.argv.slice(2);
const files = globSync(join(import.meta.dirname, '*.test.ts')).filter(
  (file) =>
    positionals.length === 0 || positionals.some((name) => file.endsWith(`/${name}.test.ts`)),
);

process.env['HOSTILE'] = 'long';
const startedAt = new Date();
let [passed, failed] = [0, 0];

// Each file alone, because the figures in them would disturb each other.
for await (const { type, data } of run({ files: files.sort(), concurrency: false })) {
  if (type === 'test:diagnostic') {
    const one = parseReport(data.message);
    if (one) console.log(`${one.kind}: ${one.count.toLocaleString('en')}: ${one.outcome}`);
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
