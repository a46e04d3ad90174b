import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, watch, writeSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { CheckReport, JournalEntry, SentPlant } from './check-journal.ts';

/*
 * Kills a loaded server at random moments, starts it again on the same store, and so on; then a process of its own
 * compares the store with the journal that the client has kept. A kill comes with an event (a request has been sent, a
 * plant acknowledged, a file of the store has changed, something was printed), never after a time.
 */

const program = fileURLToPath(new URL('../../bin/plant-store.js', import.meta.url));
const checker = fileURLToPath(new URL('./check-journal.ts', import.meta.url));
const token = 'torture-token-0123456789abcdefghijklmnopqrstuvwxyz';

/** A server that shows no sign of life for so long fails the run. */
const cycleMsMax = 60_000;

export interface KillOptions {
  /** An empty folder, for the store and the journal. */
  readonly folder: string;
  readonly cycles: number;
  /** Repeats the requests and the moments of the kills, as far as the timing of two processes can be repeated. */
  readonly seed: number;
  readonly connections: number;
  /** The store is checked after every so many cycles, after the last, and after everything unknown was retried. */
  readonly checkEvery: number;
  readonly report: (line: string) => void;
}

export interface KillReport {
  /** Kills by what had happened just before. */
  readonly kills: Readonly<Record<Happening, number>>;
  /** How often the server was killed before it was ready. */
  readonly killsBeforeReady: number;
  /** The run ends at the first check that finds any. */
  readonly violations: readonly string[];
  /** Of the last check. */
  readonly counts: CheckReport['counts'];
}

type Happening = 'store touched' | 'printed' | 'request sent' | 'plant acknowledged';

interface Moment {
  readonly happening: Happening;
  readonly count: number;
}

export async function killAgainAndAgain(options: KillOptions): Promise<KillReport> {
  const { folder, cycles, seed, connections, checkEvery, report } = options;
  const storeFolder = join(folder, 'store');
  mkdirSync(storeFolder);
  const store = join(storeFolder, 'plants.db');
  const journalPath = join(folder, 'journal.ndjson');
  using journal = openJournal(journalPath);
  const setting: Setting = { storeFolder, store, journal, workload: createWorkload(seed), connections };
  const kills = { 'store touched': 0, printed: 0, 'request sent': 0, 'plant acknowledged': 0 };
  let killsBeforeReady = 0;

  const random = seededRandom(seed);
  for (let cycle = 1; cycle <= cycles; cycle += 1) {
    const moment = randomMoment(random);
    const { wasReady } = await runServer(setting, moment);
    kills[moment.happening] += 1;
    if (!wasReady) killsBeforeReady += 1;
    if (cycle % checkEvery !== 0 && cycle !== cycles) continue;
    // The store is just as the killed server has left it.
    const { violations, counts } = checkInProcess(store, journalPath);
    report(`cycle ${cycle} of ${cycles}: ${JSON.stringify(counts)}`);
    if (violations.length > 0) return { kills, killsBeforeReady, violations, counts };
  }
  await runServer(setting, 'retry what is unknown and stop');
  return { kills, killsBeforeReady, ...checkInProcess(store, journalPath) };
}

function randomMoment(random: () => number): Moment {
  const upTo = (max: number) => 1 + Math.floor(random() * max);
  const draw = random();
  if (draw < 0.15) return { happening: 'store touched', count: upTo(6) };
  if (draw < 0.2) return { happening: 'printed', count: upTo(2) };
  if (draw < 0.4) return { happening: 'store touched', count: upTo(300) };
  if (draw < 0.7) return { happening: 'request sent', count: upTo(600) };
  return { happening: 'plant acknowledged', count: upTo(400) };
}

interface Setting {
  readonly storeFolder: string;
  readonly store: string;
  readonly journal: Journal;
  readonly workload: Workload;
  readonly connections: number;
}

/** One life of a server: it is killed at the moment given, or stopped in order once every unknown outcome is settled. */
async function runServer(setting: Setting, end: Moment | 'retry what is unknown and stop'): Promise<{ wasReady: boolean }> {
  const { store, storeFolder, journal, workload, connections } = setting;
  let left = end === 'retry what is unknown and stop' ? Number.POSITIVE_INFINITY : end.count;
  let over = false;
  const happened = (happening: Happening) => {
    if (over || typeof end === 'string' || happening !== end.happening) return;
    left -= 1;
    if (left > 0) return;
    over = true;
    child.kill('SIGKILL');
  };
  const next = () => (over ? undefined : typeof end === 'string' ? workload.nextUnknown() : workload.next());

  const watcher = watch(storeFolder, () => happened('store touched'));
  const env = { PATH: process.env['PATH'], PLANT_STORE_TOKEN: token };
  const child = spawn(process.execPath, [program, 'serve', '--port', '0', '--store', `sqlite:${store}`], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exit = once(child, 'exit').then(() => {
    over = true;
  });
  const alarm = setTimeout(() => child.kill('SIGABRT'), cycleMsMax);
  let errors = '';
  child.stdout.on('data', () => happened('printed'));
  const ready = new Promise<number>((resolve) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
      happened('printed');
      const port = /"url":"http:\/\/127\.0\.0\.1:([0-9]+)\/plants".*"ready"/.exec(errors)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
  });

  const port = await Promise.race([ready, exit]);
  if (typeof port === 'number') {
    const client = { port, journal, workload, next, happened };
    const lives = Array.from({ length: connections }, async (_, index) => {
      do await runConnection(client, 1 + (index % 4));
      while (!over && typeof end !== 'string');
    });
    await Promise.all(lives);
  }
  if (typeof end === 'string') child.kill('SIGTERM');
  await exit;
  clearTimeout(alarm);
  watcher.close();
  if (typeof end === 'string') assert.equal(child.exitCode, 0, `the server did not stop in order (${child.signalCode}): ${errors}`);
  else
    assert.equal(child.signalCode, 'SIGKILL', `the server has ended or hung by itself (${child.exitCode}, ${child.signalCode}): ${errors}`);
  return { wasReady: typeof port === 'number' };
}

interface Client {
  readonly port: number;
  readonly journal: Journal;
  readonly workload: Workload;
  next(): Request | undefined;
  happened(happening: Happening): void;
}

/** Sends requests over one connection, `depth` at a time, until there are no more, or it is lost, or a client goes away on purpose. */
function runConnection({ port, journal, workload, next, happened }: Client, depth: number): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const waiting: { readonly n: number; readonly request: Request }[] = [];
  let received: Buffer = Buffer.alloc(0);
  let leaving = false;

  function fill(): void {
    while (waiting.length < depth && !leaving) {
      const request = next();
      if (request === undefined) {
        if (waiting.length === 0) socket.destroy();
        return;
      }
      waiting.push({ n: journal.sent(request), request });
      leaving = request.bytesSent < request.bytes.length || request.leaves;
      socket.write(request.bytes.subarray(0, request.bytesSent), () => leaving && socket.destroy());
      happened('request sent');
    }
  }

  socket.on('connect', fill);
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk]);
    for (let reply = firstReply(received); reply !== undefined; reply = firstReply(received)) {
      received = received.subarray(reply.length);
      const answered = waiting.shift();
      assert(answered, `a reply to no request: ${JSON.stringify(reply)}`);
      journal.answered(answered.n, reply.status, reply.body);
      workload.settled(answered.request, reply.status);
      if (reply.status === 200) happened('plant acknowledged');
    }
    fill();
  });
  // What it means for the requests under way is said by 'close', which follows.
  socket.on('error', () => {});
  return new Promise((resolve) => {
    socket.on('close', () => {
      for (const { n, request } of waiting) {
        journal.lost(n);
        workload.settled(request, undefined);
      }
      resolve();
    });
  });
}

/** The first whole reply in the bytes, and how many bytes it takes. Every reply of the service has a Content-Length. */
function firstReply(bytes: Buffer): { status: number; body: string; length: number } | undefined {
  const head = bytes.indexOf('\r\n\r\n');
  if (head < 0) return undefined;
  const fields = bytes.toString('latin1', 0, head);
  const status = /^HTTP\/1\.1 ([0-9]{3}) /.exec(fields)?.[1];
  const bodyLength = /^content-length: ([0-9]+)$/im.exec(fields)?.[1];
  assert(status && bodyLength, `not a reply: ${fields}`);
  const length = head + 4 + Number(bodyLength);
  return bytes.length < length ? undefined : { status: Number(status), body: bytes.toString('utf8', head + 4, length), length };
}

interface Journal extends Disposable {
  /** @returns the number of the request */
  sent(request: Request): number;
  answered(n: number, status: number, body: string): void;
  lost(n: number): void;
}

/** Every line is with the operating system before the call returns, so that it survives the end of this process. */
function openJournal(path: string): Journal {
  const file = openSync(path, 'ax');
  let count = 0;
  const write = (entry: JournalEntry) => {
    const line = Buffer.from(`${JSON.stringify(entry)}\n`);
    assert.equal(writeSync(file, line), line.length);
  };
  return {
    sent({ plant, storable }) {
      count += 1;
      write({ n: count, sent: plant, storable });
      return count;
    },
    answered: (n, status, body) => write({ n, status, body }),
    lost: (n) => write({ n, lost: true }),
    [Symbol.dispose]: () => closeSync(file),
  };
}

interface Request {
  readonly plant: SentPlant;
  /** False for a request that must be refused. */
  readonly storable: boolean;
  readonly bytes: Buffer;
  /** Fewer than all: the client goes away in the middle of the request. */
  readonly bytesSent: number;
  /** The client goes away without waiting for the reply. */
  readonly leaves: boolean;
}

interface Workload {
  next(): Request;
  /** A retry of a request with an unknown outcome, if there is any. */
  nextUnknown(): Request | undefined;
  /** @param status undefined if the connection was lost before a reply */
  settled(request: Request, status: number | undefined): void;
}

/** Decides what is sent: new plants, safe retries, conflicts, requests that must be refused, clients that go away. */
function createWorkload(seed: number): Workload {
  const random = seededRandom(seed + 1);
  const upTo = (max: number) => Math.floor(random() * max);
  const ids = new Set<string>();
  const acknowledged: SentPlant[] = [];
  const unknown: SentPlant[] = [];
  let newest: SentPlant | undefined;

  function newId(): string {
    // Half of the ids ascend, half lie anywhere in int64.
    const id = random() < 0.5 ? BigInt(ids.size) : BigInt.asIntN(64, (BigInt(upTo(2 ** 32)) << 32n) | BigInt(upTo(2 ** 32)));
    if (ids.has(`${id}`)) return newId();
    ids.add(`${id}`);
    return `${id}`;
  }

  function newPlant(): SentPlant {
    const name = names[upTo(names.length)]?.(upTo) ?? '';
    return { id: newId(), name, tag: ['Alnus', '', undefined, 'Ёлка 🌲'][upTo(4)] };
  }

  function conflicting({ id, name, tag }: SentPlant): SentPlant {
    if (random() < 0.5) return { id, name: `${name}?`, tag };
    return { id, name, tag: tag === undefined ? '' : undefined };
  }

  function anyOf(plants: readonly SentPlant[]): SentPlant | undefined {
    return plants[upTo(plants.length)];
  }

  function nextUnknown(): Request | undefined {
    const plant = unknown.shift();
    return plant && createRequest(plant);
  }

  function nextKnown(draw: number): Request | undefined {
    const earlier = anyOf(acknowledged);
    if (draw < 0.15) return earlier && createRequest(earlier);
    if (draw < 0.25) return earlier && createRequest(conflicting(earlier));
    // The newest may be under way still: two clients want the same id at once.
    if (draw < 0.3) return newest && createRequest(conflicting(newest));
    return undefined;
  }

  return {
    next() {
      const retry = random() < 0.5 ? nextUnknown() : undefined;
      const request = retry ?? nextKnown(random());
      if (request) return request;
      const plant = newPlant();
      const draw = random();
      if (draw < 0.12) return refusedRequest(plant, upTo);
      if (draw < 0.13) return { ...createRequest(plant), storable: false, bytesSent: createRequest(plant).bytes.length - 1 - upTo(20) };
      newest = plant;
      return draw < 0.14 ? { ...createRequest(plant), leaves: true } : createRequest(plant);
    },
    nextUnknown,
    settled({ plant, storable }, status) {
      if (!storable) return;
      if (status === 200) acknowledged.push(plant);
      if (status === undefined || status >= 500) unknown.push(plant);
    },
  };
}

const names: readonly ((upTo: (max: number) => number) => string)[] = [
  () => 'Alder',
  () => '',
  () => 'Großblättrige Linde "Tilia" \\ 🌳\n',
  (upTo) => `Plant ${upTo(1_000_000)}`,
  (upTo) => `Plant ${upTo(1_000_000)}`,
  (upTo) => `Plant ${upTo(1_000_000)}`,
  (upTo) => 'leaf '.repeat(upTo(100)),
  // Several pages of the database, now and then.
  (upTo) => (upTo(20) === 0 ? 'root '.repeat(upTo(4_000)) : 'Oak'),
];

function createRequest(plant: SentPlant): Request {
  return whole(plant, true, bodyOf(plant), `Bearer ${token}`);
}

/** A request that names the id of the plant and must leave nothing in the store. */
function refusedRequest(plant: SentPlant, upTo: (max: number) => number): Request {
  const { id, name } = plant;
  const quoted = JSON.stringify(name);
  const bodies = [
    `{"id":${id},"name":${quoted}`,
    `{"id":${id}}`,
    `{"id":${id},"name":null}`,
    `{"id":${id},"name":${quoted},"tag":null}`,
    `{"id":"${id}","name":${quoted}}`,
    `{"id":${id}.5,"name":${quoted}}`,
    `{"id":${id},"name":"a\\u0000b"}`,
    `{"id":${id},"name":"one","name":"two"}`,
    `[${bodyOf(plant)}]`,
  ];
  const body = bodies[upTo(bodies.length + 2)];
  if (body !== undefined) return whole(plant, false, body, `Bearer ${token}`);
  return whole(plant, false, bodyOf(plant), upTo(2) === 0 ? 'Bearer not-a-token' : 'Basic YTpi');
}

function bodyOf({ id, name, tag }: SentPlant): string {
  return `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`;
}

function whole(plant: SentPlant, storable: boolean, body: string, authorization: string): Request {
  const head = [
    'POST /plants HTTP/1.1',
    'Host: 127.0.0.1',
    `Authorization: ${authorization}`,
    'Content-Type: application/json',
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  const bytes = Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`);
  return { plant, storable, bytes, bytesSent: bytes.length, leaves: false };
}

function checkInProcess(store: string, journal: string): CheckReport {
  const { stdout, stderr } = spawnSync(process.execPath, [checker, store, journal], { encoding: 'utf8', maxBuffer: 2 ** 28 });
  assert(stdout.startsWith('{'), `the check has failed: ${stderr}`);
  return JSON.parse(stdout);
}

/** Mulberry32: from 0 to 1, the same for the same seed. */
function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

async function command(): Promise<number> {
  const { values } = parseArgs({
    options: {
      cycles: { type: 'string', default: '1000' },
      seed: { type: 'string', default: `${Math.floor(Math.random() * 2 ** 31)}` },
      connections: { type: 'string', default: '16' },
    },
  });
  const [cycles, seed, connections] = [values.cycles, values.seed, values.connections].map(Number) as [number, number, number];
  assert(cycles > 0 && connections > 0 && Number.isInteger(seed), 'usage: kill.ts [--cycles N] [--seed N] [--connections N]');
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-kill-'));
  console.log(`${cycles} kills, ${connections} connections, seed ${seed}, in ${folder}`);
  const startedAt = performance.now();
  const options = { folder, cycles, seed, connections, checkEvery: 50, report: console.log };
  const { kills, killsBeforeReady, violations, counts } = await killAgainAndAgain(options);
  for (const violation of violations.slice(0, 20)) console.log(`VIOLATION ${violation}`);
  console.log(`killed after: ${JSON.stringify(kills)}, ${killsBeforeReady} of them before it was ready`);
  console.log(`the journal: ${JSON.stringify(counts)}`);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  if (violations.length > 0) {
    console.log(
      `FAILED: ${violations.length} violations within ${cycles} kills and ${seconds} s; seed ${seed}; the store and the journal are in ${folder}`,
    );
    return 1;
  }
  console.log(
    `PASSED: ${cycles} kills in ${seconds} s, no acknowledged plant was lost or changed, nothing refused was stored; seed ${seed}`,
  );
  rmSync(folder, { recursive: true });
  return 0;
}

if (import.meta.main) process.exitCode = await command();
