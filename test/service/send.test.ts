import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { sabotaging } from '../helpers/faults.ts';
import { freePort } from '../helpers/free-port.ts';
import {
  type Ended,
  oneThread,
  runProgram,
  startProgram,
  startServer,
  startServerOnNewStore,
  takesNoCode,
  temporaryFolder,
  token,
} from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { shareServer } from '../helpers/shared-server.ts';
import { storedPlants } from '../helpers/store-file.ts';

const commonPlants = fileURLToPath(new URL('../data/common-plants.ndjson', import.meta.url));
const shared = await shareServer(oneThread);

async function fileFor(t: TestContext, name: string, content: string | Uint8Array) {
  const file = join(await temporaryFolder(t), name);
  writeFileSync(file, content);
  return { file, refused: `${file}.refused.ndjson` };
}

function send(file: string, url: string, ...args: string[]): Promise<Ended> {
  return runHere(['send', file, '--url', url, '--json', ...args], { PLANT_STORE_TOKEN: token });
}

const root = (plantsUrl: string) => new URL('.', plantsUrl).href;
const refusedLines = (path: string) =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));

test('the plants of a file are stored by the service, and sending the file again stores nothing', async (t) => {
  const { plantsUrl, store } = shared();
  const { file } = await fileFor(t, 'plants.ndjson.gz', gzipSync(readFileSync(commonPlants)));
  for (const _ of [1, 2]) {
    const { code, stdout, stderr } = await send(file, root(plantsUrl));
    assert.deepEqual(JSON.parse(stdout), {
      stored: 630,
      refused: 0,
      unknown: 0,
      refusedByCode: {},
    });
    assert.match(stderr, /Sent 630 plants in /);
    assert.equal(code, 0);
    assert.equal(storedPlants(store).length, 630);
  }
});

test('send reads the columns that --column names', async (t) => {
  const { plantsUrl, store } = shared();
  const { file } = await fileFor(t, 'garden.csv', 'Nr,Plant\n4711,Alder\n');
  const { code, stdout } = await send(
    file,
    root(plantsUrl),
    '--column',
    'id=Nr',
    '--column',
    'name=Plant',
  );
  assert.deepEqual([code, JSON.parse(stdout).stored], [0, 1]);
  assert.deepEqual(
    storedPlants(store).find(([id]) => id === 4711n),
    [4711n, 'Alder', null],
  );
});

test('what is refused by the file or by the service is reported, and the rest is stored', async (t) => {
  const { plantsUrl, store } = shared();
  const lines = [
    '{"id":9223372036854775807,"name":"Alder"}',
    '{"id":1}',
    '{"id":9223372036854775807,"name":"Birch"}',
    '{"id":2,"name":"Cherry","tag":""}',
  ];
  const { file, refused } = await fileFor(t, 'plants.ndjson', `${lines.join('\n')}\n`);
  const ended = await send(file, root(plantsUrl), '--concurrency', '1');
  assert.equal(ended.code, 1);
  const totals = { stored: 2, refused: 2, unknown: 0, refusedByCode: { 40001: 1, 40004: 1 } };
  assert.deepEqual(JSON.parse(ended.stdout), totals);
  assert.deepEqual(storedPlants(store), [
    [2n, 'Cherry', ''],
    [2n ** 63n - 1n, 'Alder', null],
  ]);
  const reported = refusedLines(refused).map(({ line, error, text }) => [line, error, text]);
  assert.deepEqual(reported, [
    [2, 40001, lines[1]],
    [3, 40004, lines[2]],
  ]);
});

test('with --stop-at-refusal the first refused line ends the command', async (t) => {
  const { plantsUrl, store } = shared();
  const lines = ['{"id":1,"name":"a"}', '{"id":1,"name":"b"}', '{"id":2,"name":"c"}'];
  const { file, refused } = await fileFor(t, 'plants.ndjson', lines.join('\n'));
  const ended = await send(file, root(plantsUrl), '--concurrency', '1', '--stop-at-refusal');
  assert.equal(ended.code, 1);
  assert.deepEqual(storedPlants(store), [[1n, 'a', null]]);
  assert.equal(refusedLines(refused)[0].line, 2);
});

test('a wrong token ends the command, and no line is reported as refused', async (t) => {
  const { plantsUrl } = shared();
  const { file, refused } = await fileFor(t, 'token.txt', 'not-the-token\n');
  const args = ['--url', root(plantsUrl), '--token-file', file, '--json'];
  const ended = await runHere(['send', commonPlants, ...args, '--refused', refused]);
  assert.equal(ended.code, 1);
  assert.match(
    ended.stderr,
    /takes no more plants: The token is refused: .*; send the file again with a valid token: plants/s,
  );
  assert(JSON.parse(ended.stdout).refused > 0);
  assert(!existsSync(refused));
});

test('what is missing is said with the exit code 2', async () => {
  const faults: readonly (readonly [args: string[], says: RegExp])[] = [
    [[], /send needs --url URL/],
    [['--url', 'plants.example.org'], /--url must be an http or https address without user/],
    [['--url', 'http://plants.example.org', '--concurrency', '0'], /--concurrency must be/],
  ];
  for (const [args, says] of faults) {
    const { code, stderr } = await runHere(['send', commonPlants, ...args], {
      PLANT_STORE_TOKEN: token,
    });
    assert.equal(code, 2, stderr);
    assert.match(stderr, says);
  }
  const { code, stderr } = await runHere(['send', commonPlants, '--url', 'http://127.0.0.1']);
  assert.equal(code, 2);
  assert.match(stderr, /send needs a token, in PLANT_STORE_TOKEN or in a file by --token-file/);
});

test('a service that restarts is waited for, and every plant is stored', async (t) => {
  const { plantsUrl, store, port, stop } = await startServerOnNewStore(t, ...oneThread);
  const lines = Array.from({ length: 3_000 }, (_, id) => `{"id":${id},"name":"Plant ${id}"}\n`);
  const { file } = await fileFor(t, 'plants.ndjson', lines.join(''));
  const child = startProgram(['send', file, '--url', root(plantsUrl), '--json'], {
    PLANT_STORE_TOKEN: token,
  });
  t.after(() => child.kill('SIGKILL'));
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => (stdout += chunk));
  child.stderr.on('data', (chunk) => (stderr += chunk));
  const ended = once(child, 'close');
  while (storedPlants(store).length === 0) await new Promise(setImmediate);
  await stop('SIGKILL');
  while (!stderr.includes('retrying')) await once(child.stderr, 'data');
  await startServer(t, store, [...oneThread, '--port', `${port}`]);
  assert.deepEqual(await ended, [0, null], stderr);
  assert.equal(JSON.parse(stdout).stored, 3_000);
  assert.equal(storedPlants(store).length, 3_000);
});

test('a service that stays away, or takes no plant, is named with its last answer, and with how to go on', {
  skip: takesNoCode,
}, async (t) => {
  const { file } = await fileFor(t, 'plants.ndjson', '{"id":1,"name":"Alder"}\n');
  const busy = createServer((_, reply) => reply.writeHead(503).end()).listen(0, '127.0.0.1');
  await once(busy, 'listening');
  t.after(() => busy.close());
  const { port } = busy.address() as AddressInfo;
  const away = `http://127.0.0.1:${await freePort()}`;
  const sendTo = (url: string) =>
    runProgram(['send', file, '--url', url], sabotaging('services are given up soon'));
  const goOn = '0 plants are stored; send the file again to go on: ';
  for (const [url, says] of [
    [away, `did not answer within 1 s (connect ECONNREFUSED ${away.slice('http://'.length)})`],
    [
      `http://127.0.0.1:${port}`,
      'took no plant within 1 s (HTTP status 503, not from a plant store)',
    ],
  ] as const) {
    const { code, stderr } = await sendTo(url);
    assert.equal(code, 1);
    assert(stderr.includes(`plant-store: the service at ${url} ${says}; ${goOn}`), stderr);
  }
});

test('Ctrl-C prints how far the command has come, and how to go on', async (t) => {
  const server = createServer(() => child.kill('SIGINT')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const args = ['send', commonPlants, '--url', `http://127.0.0.1:${port}`, '--json'];
  const child = startProgram(args, { PLANT_STORE_TOKEN: token });
  let stderr = '';
  child.stderr.on('data', (chunk) => (stderr += chunk));
  assert.deepEqual(await once(child, 'close'), [null, 'SIGINT']);
  assert.match(stderr, /Sent 0 plants .*SIGINT has stopped the command .*; send the file again/s);
});
