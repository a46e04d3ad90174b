import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, type TestContext, test } from 'node:test';
import { type Problem, problems } from '../../src/contract/problems.ts';
import { withLimits } from '../helpers/faults.ts';
import { oneThread, startServer, startServerOnNewStore, storePath } from '../helpers/program.ts';
import {
  assertRefusal,
  connectRaw,
  type RawConnection,
  rawRequest,
  sendAndWaitUntilRead,
} from '../helpers/raw.ts';
import { reset } from '../helpers/reset.ts';
import { lockStore, storedPlants } from '../helpers/store-file.ts';
import { seededRandom } from '../torture/workload.ts';
import { type Answer, create, type HttpCase, httpCases, oneChunk, size } from './http-cases.ts';
import { scale } from './scale.ts';

/** Makes the packets in which the bytes of a case are sent. */
type Split = (bytes: Buffer, random: () => number, index: number) => Buffer[];

const byteByByteMax = scale({ short: 400, long: 8_000 });
/** The others are split at random. Cases that are alike stand together. */
const byteByByteEvery = scale({ short: 3, long: 1 });
/** At once they come behind creates that wait, in another test. */
const splits: readonly Split[] = [
  byteByByte,
  ...Array.from({ length: scale({ short: 0, long: 100 }) }, () => atRandom),
];

function atOnce(bytes: Buffer): Buffer[] {
  return [bytes];
}

function byteByByte(bytes: Buffer, random: () => number, index: number): Buffer[] {
  return bytes.length > byteByByteMax || index % byteByByteEvery > 0
    ? atRandom(bytes, random)
    : Array.from(bytes, (byte) => Buffer.of(byte));
}

function atRandom(bytes: Buffer, random: () => number): Buffer[] {
  const cuts = Array.from({ length: 1 + Math.floor(random() * 6) }, () =>
    Math.floor(random() * bytes.length),
  );
  const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
}

/** One service for all tests but the last. The cases for operators are for a host of this name. */
const { port, opsUrl, store, stderr, stop } = await startServerOnNewStore(
  { after },
  ...['--commit-timeout', '60s', '--ops-names', 'a'],
);

/** Every id that was sent, with the case and the plant that it belongs to. */
const sentIds = new Map<number, string>();
/** The ids that were answered 200. */
const createdIds = new Set<number>();

const cases = Object.entries(httpCases).flatMap(([part, ofPart]) =>
  ofPart.map((one) => ({ ...one, what: `${part}: ${one.what}` })),
);

const firstId = 1_000_000_000;
/** The create that follows the bytes of a case, and one that goes before them. */
const behind = 0;
const ahead = 51;

test('requests are answered as HTTP has it, however TCP splits them', async (t) => {
  const left = cases.entries();
  const lane = async () => {
    for (const [index, one] of left)
      for (const [way, split] of splits.entries()) {
        const random = seededRandom(index * splits.length + way);
        await run(t, port, one, (bytes) => split(bytes, random, index));
      }
  };
  await Promise.all(Array.from({ length: 16 }, lane));
});

test('requests behind creates that wait for the disk are answered just so, after them', async (t) => {
  const together = 200;
  for (let from = 0; from < cases.length; from += together) {
    const lock = lockStore(t, store);
    const waiting = cases.slice(from, from + together).map(async (one) => {
      const { ids, bytes, before, more } = fill(one);
      const connection = await connectRaw(t, port);
      await sendAndWaitUntilRead(connection, before, bytes, more);
      if (one.after !== 'closed') connection.socket.end();
      return { one, ids, connection };
    });
    const sent = await Promise.all(waiting);
    lock.release();
    for (const { one, ids, connection } of sent) {
      const answers = [ahead, ...one.answers];
      await assertAnswers(connection, { ...one, answers }, ids).catch((error: unknown) => {
        throw new Error(one.what, { cause: error });
      });
      connection.socket.destroy();
    }
  }
});

/** What makes a request malformed whatever it asks for. */
const malformed: readonly Answer[] = [
  'httpMalformed',
  'headersTooLarge',
  'versionUnsupported',
  'expectationFailed',
  'bodyTooLarge',
];

test("what is malformed is refused on the operators' port just so", async (t) => {
  const opsPort = Number(new URL(opsUrl).port);
  const ofAllPorts = cases.filter(
    ({ answers, after }) =>
      after !== 'open' && answers.length === 1 && malformed.includes(answers[0] ?? 0),
  );
  assert(ofAllPorts.length > 200, `${ofAllPorts.length}`);

  for (const [index, one] of ofAllPorts.entries()) {
    await run(t, opsPort, one, (bytes) => atRandom(bytes, seededRandom(index)));
  }
});

test('a connection that is reset at any byte of a request disturbs no other client', async (t) => {
  const whole: HttpCase = {
    what: 'whole',
    bytes: (plant) => create(plant(1)),
    answers: [1],
    after: 'open',
  };
  const inChunks: HttpCase = { ...whole, bytes: (plant) => oneChunk(plant(1)) };
  const tunnel = Buffer.from('CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n');
  const unknown = Buffer.from('PLANT /plants HTTP/1.1\r\nHost: a\r\n\r\n');

  for (const bytes of [
    fill(whole).bytes.subarray(0, -1),
    fill(inChunks).bytes.subarray(0, -1),
    tunnel,
    unknown,
  ]) {
    for (let length = 0; length <= bytes.length; length += 1) {
      const connection = await connectRaw(t, port);
      connection.send(bytes.subarray(0, length));
      await new Promise(setImmediate);
      reset(connection.socket);
    }
  }

  await run(t, port, whole, atOnce);
});

test('a client that sends megabytes behind a malformed request before it reads gets the refusal, and none of them is looked at', async (t) => {
  const many = (plant: (n: number) => string) => create(plant(1)).repeat(10_000);
  const { bytes } = fill({ what: 'many', bytes: many, answers: [], after: 'cut' });
  const connection = await connectRaw(t, port);
  connection.socket.pause();

  connection.send(create('x'.repeat(size)).replace('Host: a', 'Host: a b'), bytes);
  while (connection.socket.writableLength > 0) await once(connection.socket, 'drain');
  connection.socket.resume();

  assertRefusal(await connection.reply(), 'httpMalformed');
  assert.equal(await connection.closed(), '');
  connection.socket.destroy();
});

test('a client that sends on behind a refusal is cut off', { timeout: 60_000 }, async (t) => {
  const linger = withLimits({ http: { lingerMs: 3_600_000, lingerBytes: 100_000 } });
  const lingering = await startServer(t, await storePath(t), oneThread, linger);
  const fields = { Authorization: 'Bearer wrong', 'Content-Length': '1000000' };
  for (const head of [rawRequest('', { method: 'P OST' }), rawRequest('', { fields })]) {
    const { socket, send } = await connectRaw(t, lingering.port);
    const gone = new Promise((resolve) => socket.once('close', resolve));
    send(head, Buffer.alloc(900_000));
    await gone;
  }
});

test('nothing was stored but what was answered 200, and nothing was a defect', async () => {
  assert.equal(await stop(), 0);
  const stored = new Set(storedPlants(store).map(([id]) => Number(id)));
  const named = (ids: ReadonlySet<number>) => [...ids].map((id) => sentIds.get(id) ?? id);
  assert.deepEqual(named(stored.difference(createdIds)), [], 'stored, but not answered 200');
  assert.deepEqual(named(createdIds.difference(stored)), [], 'answered 200, but not stored');
  assert.doesNotMatch(stderr(), /"level":"(error|fatal)"/);
});

/** The bytes of a case and what belongs behind them, with ids that nothing else has. */
function fill(one: HttpCase) {
  const ids = new Map<number, number>();
  const plant = (n: number) => {
    const id = ids.get(n) ?? firstId + sentIds.size;
    ids.set(n, id);
    sentIds.set(id, `${one.what}, plant ${n}`);
    return `{"id":${id},"name":"${nameOf(n)}"}`;
  };
  const bytes = Buffer.from(one.bytes(plant), 'latin1');
  return {
    ids,
    bytes,
    more: Buffer.from(one.after === 'cut' ? '' : create(plant(behind))),
    before: create(plant(ahead)),
  };
}

async function run(
  t: TestContext,
  port: number,
  one: HttpCase,
  split: (bytes: Buffer) => Buffer[],
): Promise<void> {
  const { ids, bytes, more } = fill(one);
  const packets = split(bytes);
  // The first byte of what follows comes with the last of what is before it.
  const last = Buffer.concat([packets.pop() ?? bytes, more]);

  const connection = await connectRaw(t, port);
  const sending = connection.sendApart([...packets, last]);
  if (one.after !== 'closed') sending.then(() => connection.socket.end());
  try {
    await assertAnswers(connection, one, ids);
    await sending;
  } catch (error) {
    throw new Error(
      `${one.what}: sent in packets of ${packets.map(({ length }) => length)} and ${last.length} bytes`,
      { cause: error },
    );
  } finally {
    connection.socket.destroy();
  }
}

/**
 * Asserts that the answers are those of the case and no more, and that the connection then ends.
 */
async function assertAnswers(
  connection: RawConnection,
  one: HttpCase,
  ids: ReadonlyMap<number, number>,
): Promise<void> {
  for (const answer of one.after === 'open' ? [...one.answers, behind] : one.answers) {
    await assertAnswer(connection, answer);
    if (typeof answer === 'number') createdIds.add(ids.get(answer) ?? assert.fail());
  }
  assert.equal(await connection.closed(), '', 'there is one more reply');
}

async function assertAnswer(connection: RawConnection, answer: Answer): Promise<void> {
  const isToHead = typeof answer === 'object';
  const reply = await connection.reply(isToHead ? 'HEAD' : undefined);
  if (answer === 'continue') return assert.equal(reply.status, 100);
  if (answer === 'described') return assert.match(reply.body, /^\{"openapi"/);
  if (isToHead) return assert.equal(reply.status, (problems[answer.head] satisfies Problem).status);
  if (typeof answer === 'string') return void assertRefusal(reply, answer);
  assert.equal(reply.status, 200, reply.body);
  assert.equal(reply.body, `{"name":"${nameOf(answer)}"}`);
}

/** One character for each plant of a case, so that all have the same size. */
function nameOf(n: number): string {
  return 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'.charAt(n);
}
