import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, Socket } from 'node:net';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { statusAndCode, withLimits } from '../helpers/faults.ts';
import { freePort, listenFor } from '../helpers/free-port.ts';
import { mounted } from '../helpers/mounts.ts';
import { untilReady } from '../helpers/operators.ts';
import { pause } from '../helpers/pause.ts';
import {
  besideOthers,
  commandLine,
  create,
  oneThread,
  startServer,
  storePath,
  temporaryFolder,
  token,
} from '../helpers/program.ts';

interface UnwatchedServer {
  readonly child: ChildProcess;
  readonly port: number;
  readonly plantsUrl: string;
  readonly opsUrl: string;
}

/** Starts a server that logs each refusal and keeps few lines, and asks its probe whether it is ready. */
async function startUnwatched(
  t: TestContext,
  store: string,
  stderr: number | 'pipe',
  stdout: number | 'pipe' | 'ignore' = 'ignore',
  ...args: string[]
): Promise<UnwatchedServer> {
  const [port, opsPort] = [await freePort(), await freePort()];
  const ports = ['--port', `${port}`, '--ops-port', `${opsPort}`];
  const flags = ['--store', `sqlite:${store}`, '--log-level', 'debug', ...oneThread];
  const child = spawn(...commandLine('serve', ...ports, ...flags, ...args), {
    env: { ...process.env, ...besideOthers, ...withLimits({ service: { logLinesMax: 200 } }) },
    stdio: ['ignore', stdout, stderr],
  });
  t.after(() => child.kill('SIGKILL'));
  const opsUrl = `http://127.0.0.1:${opsPort}/`;
  while ((await statusOf(`${opsUrl}readyz`)) !== 200) {
    assert.equal(child.exitCode, null);
    await pause();
  }
  return { child, port, plantsUrl: `http://127.0.0.1:${port}/plants`, opsUrl };
}

function statusOf(url: string): Promise<number | undefined> {
  return fetch(url).then(
    ({ status }) => status,
    () => undefined,
  );
}

/** Sends creates that are refused, one behind the other, and waits for the replies. */
async function refuse({ port }: Pick<UnwatchedServer, 'port'>, count: number): Promise<void> {
  const head = `POST /plants HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${token}`;
  const request = `${head}\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}`;
  const socket = connect(port, '127.0.0.1').setEncoding('latin1');
  socket.write(request.repeat(count - 1));
  socket.end(request.replace('Host:', 'Connection: close\r\nHost:'));
  const replies = await text(socket);
  assert.equal(replies.split('HTTP/1.1 400 ').length - 1, count);
}

async function assertServes(server: UnwatchedServer, id: number): Promise<void> {
  assert.equal((await create(server.plantsUrl, { id, name: 'Alder' })).status, 200);
  await untilReady(server);
  assert.equal(await statusOf(`${server.opsUrl}livez`), 200);
}

async function droppedLines({ opsUrl }: UnwatchedServer): Promise<number> {
  const metrics = await (await fetch(`${opsUrl}metrics`)).text();
  const [, count] = /^plant_store_log_lines_dropped_total (\d+)$/m.exec(metrics) ?? [];
  assert(count !== undefined);
  return Number(count);
}

async function assertStops({ child }: UnwatchedServer): Promise<void> {
  child.kill('SIGTERM');
  if (child.exitCode === null) await once(child, 'exit');
  assert.equal(child.exitCode, 0);
}

function toldIn(log: string): number {
  return [...log.matchAll(/"dropped":(\d+),/g)].reduce((sum, [, count]) => sum + Number(count), 0);
}

const refusedInLog = (log: string) => log.split('"msg":"request refused"}\n').length - 1;

/** More than a pipe and the service hold. */
const manyLines = 1_500;

interface Reader {
  readonly stderr: number | 'pipe';
  /** Closes the copy of the end that the server has. */
  started(child: ChildProcess): Readable;
}

/** A pipe, whose reader reads on demand. Node itself makes sockets where it says pipes. */
async function namedPipe(t: TestContext) {
  const path = join(await temporaryFolder(t), 'log');
  assert.equal(spawnSync('mkfifo', [path]).status, 0);
  const readEnd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stderr = openSync(path, constants.O_WRONLY);
  let close = () => closeSync(readEnd);
  t.after(() => close());
  return {
    stderr,
    started() {
      closeSync(stderr);
      const reader = new Socket({ fd: readEnd, writable: false });
      close = () => void reader.destroy();
      return reader;
    },
  };
}

const socket: Reader = { stderr: 'pipe', started: ({ stderr }) => stderr as Readable };

for (const [kind, open] of [
  ['pipe', namedPipe],
  ['socket', async () => socket],
] as const) {
  test(`a reader of the log that stops reading its ${kind} stops no create, no probe and no signal, and is told later how many lines it missed`, async (t) => {
    const { stderr, started } = await open(t);
    const server = await startUnwatched(t, await storePath(t), stderr);
    const reader = started(server.child);
    await refuse(server, manyLines);
    await assertServes(server, 1);
    const dropped = await droppedLines(server);
    assert(dropped > 0 && dropped < manyLines, `${dropped} lines were dropped`);

    let log = '';
    const read = (chunk: string) => (log += chunk);
    reader.setEncoding('utf8').on('data', read);
    while (toldIn(log) < dropped) await once(reader, 'data');
    await refuse(server, 1);
    while (refusedInLog(log) + toldIn(log) < manyLines + 1) await once(reader, 'data');
    assert.equal(await droppedLines(server), toldIn(log));

    reader.off('data', read).pause();
    await refuse(server, manyLines);
    await assertStops(server);
  });
}

test('a service that cannot start ends with 1, also if nobody reads why', async (t) => {
  const { stderr } = await namedPipe(t);
  const port = await listenFor(t, createServer());
  spawnSync('sh', ['-c', 'timeout 0.5 cat /dev/zero >&2'], { stdio: ['ignore', 'ignore', stderr] });
  const store = `sqlite:${await storePath(t)}`;
  const child = spawn(...commandLine('serve', '--port', `${port}`, '--store', store), {
    env: { ...process.env, ...besideOthers },
    stdio: ['ignore', stderr, stderr],
  });
  t.after(() => child.kill('SIGKILL'));
  closeSync(stderr);
  await once(child, 'exit');
  assert.equal(child.exitCode, 1);
});

test('a service whose log and first page cannot be written starts, serves and stops all the same', async (t) => {
  const full = openSync('/dev/full', 'w');
  t.after(() => closeSync(full));
  const server = await startUnwatched(t, await storePath(t), full, full, '--log-format', 'text');
  await refuse(server, 10);
  await assertServes(server, 1);
  while ((await droppedLines(server)) < 10) await pause();
  await assertStops(server);
});

test('with the store and the log on one full disk, creates get 50301, and all goes on once there is space', async (t) => {
  const folder = mounted(t, 'size=8m');
  if (folder === undefined) return;
  const log = join(folder, 'log');
  const stderr = openSync(log, 'a');
  const server = await startUnwatched(t, join(folder, 'plants.db'), stderr);
  closeSync(stderr);
  const name = 'leaf '.repeat(20_000);
  const ballast = join(folder, 'ballast');
  writeFileSync(ballast, Buffer.alloc(4 * 2 ** 20));
  const rest = join(folder, 'rest');
  assert.throws(() => writeFileSync(rest, Buffer.alloc(8 * 2 ** 20)), { code: 'ENOSPC' });
  await refuse(server, 1_000);
  for (const id of [1, 2, 3]) {
    const refused = await create(server.plantsUrl, { id, name });
    assert.deepEqual(await statusAndCode(refused), [503, 50301]);
  }
  assert.equal(await statusOf(`${server.opsUrl}livez`), 200);
  const dropped = await droppedLines(server);
  assert(dropped > 0);

  rmSync(ballast);
  rmSync(rest);

  assert.equal((await create(server.plantsUrl, { id: 4, name })).status, 200);
  await untilReady(server);
  while (toldIn(readFileSync(log, 'utf8')) < dropped) await pause();
  await refuse(server, 1);
  await assertStops(server);
  const written = readFileSync(log, 'utf8');
  assert.match(written, /"msg":"stopped"\}\n$/);
  assert(refusedInLog(written) + toldIn(written) >= 1_001);
});

test('in one interval, all threads together log ten refusals, and count the others', async (t) => {
  const hour = withLimits({ service: { logSummaryMs: 3_600_000 } });
  const server = await startServer(t, await storePath(t), [], hour);
  await Promise.all(Array.from({ length: 8 }, () => refuse(server, 30)));
  await server.stop();
  const counted = [...server.stderr().matchAll(/"refused":\{"40001":(\d+)\}/g)];
  const others = counted.reduce((sum, [, count]) => sum + Number(count), 0);
  const lines = refusedInLog(server.stderr());
  assert(lines > 0 && lines <= 10, `${lines} lines`);
  assert.equal(lines + others, 240);
});
