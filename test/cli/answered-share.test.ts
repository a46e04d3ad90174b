import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { answeredShare } from '../../src/cli/transfer/answered-share.ts';
import { openSource } from '../../src/transfer/import-source.ts';
import { createRecordCutter, lineEnds } from '../../src/transfer/record-cutter.ts';
import { temporaryFolder } from '../helpers/program.ts';

const lines = Array.from({ length: 10 }, (_, id) => `{"id":${id},"name":"Alder"}`);
const text = lines.map((line) => `${line}\n`).join('');

/** The shares after the first chunk, and after each record of a file of one chunk. */
async function sharesOf(t: TestContext, content: string | Uint8Array, compression?: 'gz') {
  const file = join(await temporaryFolder(t), 'plants');
  writeFileSync(file, content);
  using source = openSource(file, compression);
  const share = answeredShare(source);
  const cutter = createRecordCutter(lineEnds(), 1_000);
  const shares: (number | undefined)[] = [share.now()];
  for await (const chunk of share.chunks) {
    shares.push(share.now());
    for (const record of cutter.cut(chunk)) {
      share.answer(record);
      shares.push(share.now());
    }
  }
  return shares.map((one) => one?.toFixed(1));
}

const tenths = ['0.0', '0.0', ...lines.map((_, index) => ((index + 1) / 10).toFixed(1))];

test('what is read and not answered is not done', async (t) => {
  assert.deepEqual(await sharesOf(t, text), tenths);
  assert.deepEqual(await sharesOf(t, gzipSync(text), 'gz'), tenths);
});
