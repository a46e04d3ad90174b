import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, openSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { engineOf } from '../../src/store/engines.ts';
import { childrenOf, commandLine, runProgram, storePath } from '../helpers/program.ts';
import { skipVisibly } from '../helpers/skips.ts';
import { alterStore } from '../helpers/store-file.ts';
import { hasTerminal, onTerminal, startOnTerminal } from '../helpers/terminal.ts';

const createdAtMs = Date.UTC(2026, 10, 22, 7, 5, 24, 644);

/** Colours, a title, a click, a cursor sent home by C1, a line turned around, lines and a tab. */
const hostile =
  '\u001b[31mred\u001b]0;title\u0007\u009b2J\u202egnp.exe\nsecond\u2028line\ttab\u007f';

const plants = [
  [-9223372036854775808n, 'Yew', 'Taxus'],
  [-5n, '', undefined],
  [0n, 'Alder', ''],
  [7n, '欅（ケヤキ）は日本の代表的な広葉樹のひとつ', 'ニレ科'],
  [8n, '👩‍👩‍👧‍👦🌳🇩🇪 a family tree that goes on and on and on', '👍🏽'],
  [9n, hostile, undefined],
  [10n, `E${'\u0301'.repeat(50_000)}`, 'e\u0301'.repeat(300)],
] as const;

/** A store with one token and the plants above, all of the same time. */
async function storeWithPlants(t: TestContext): Promise<string> {
  const path = await storePath(t);
  await using store = await engineOf({ engine: 'sqlite', path }).open({
    callMs: 1_000,
    mayMake: true,
  });
  const token = {
    name: 'my-app',
    hash: Buffer.alloc(32),
    role: 'create',
    createdAtMs,
    expiresAtMs: undefined,
  } as const;
  assert.equal(await store.createToken(token, 1), 'created');
  await store.createPlants(plants.map(([id, name, tag]) => ({ id, name, tag, createdBy: 1 })));
  await store.close();
  alterStore(path, `UPDATE plants SET created_at = ${createdAtMs}`);
  return path;
}

test('names that hold control characters do not reach the terminal as they are', async (t) => {
  if (!hasTerminal(t)) return;
  const store = await storeWithPlants(t);
  const escaped =
    '\\u001b[31mred\\u001b]0;title\\u0007\\u009b2J\\u202egnp.exe\\nsecond\\u2028line\\ttab\\u007f';
  const quiet = { NO_COLOR: '1' };
  const list = await onTerminal(300, ['plants', 'list', '--store', `sqlite:${store}`], quiet);
  assert(list.includes(` 9  ${escaped.slice(0, 50)}`), list);
  const got = await onTerminal(300, ['plants', 'get', '9', '--store', `sqlite:${store}`]);
  assert.match(got, /^[ -~]+\n$/);
  const { createdAt, createdBy, ...plant } = JSON.parse(got);
  assert.deepEqual(plant, { id: 9, name: hostile });
  assert(Date.parse(createdAt) > 0);
  assert.equal(createdBy, 'my-app');
  const lines = await onTerminal(300, ['plants', 'list', '--json', '--store', `sqlite:${store}`]);
  const csv = await onTerminal(300, ['export', '--format', 'csv', '--store', `sqlite:${store}`]);
  assert(csv.includes('\\u001b[31mred'), csv);
  const error = await onTerminal(300, ['import', `/nowhere/${hostile}`], quiet);
  assert.match(error, /there is no file \/nowhere\/\\u001b\[31mred/);
  // A line of progress is removed in the end.
  const shown = (written: string) => written.replaceAll('\r\u001b[K', '');
  for (const written of [list, got, lines, csv, error].map(shown))
    assert.doesNotMatch(written, /(?!\n)[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u);
  const { stdout } = await runProgram(['plants', 'get', '9', '--store', `sqlite:${store}`]);
  assert.equal(JSON.parse(stdout).name, hostile);
  assert(stdout.includes('\u202e') && stdout.includes('\u007f'));
});

test('a start on a terminal says each fact once', async (t) => {
  if (!hasTerminal(t)) return;
  const store = await storePath(t);
  const args = ['serve', '--store', `sqlite:${store}`, '--port', '0', '--ops-port', '0'];
  const { stdout, pid = 0 } = startOnTerminal(200, args, { NO_COLOR: '1' });
  assert(stdout);
  let written = '';
  let isStopped = false;
  for await (const text of stdout.setEncoding('utf8')) {
    written += text;
    if (isStopped || !/curl .*\n/.test(written)) continue;
    isStopped = true;
    process.kill(childrenOf(pid)[0] ?? assert.fail('there is no service'), 'SIGTERM');
  }
  for (const fact of [
    /is ready|: ready/g,
    /there was none|there was no store/g,
    / {2}console {2}/g,
  ])
    assert.equal(written.match(fact)?.length, 1, `${fact} in ${written}`);
  assert.match(written, /: stopped/);
});

test('output that cannot be written ends a command with 1 and one line', (t) => {
  if (!existsSync('/dev/full')) return skipVisibly(t, 'needs /dev/full');
  const { status, stderr } = spawnSync(...commandLine('--help'), {
    stdio: ['ignore', openSync('/dev/full', 'w'), 'pipe'],
    encoding: 'utf8',
  });
  assert.equal(status, 1);
  assert.match(stderr, /^plant-store: cannot write the output \(ENOSPC[^\n]*\)\n$/);
});
