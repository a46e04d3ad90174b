import assert from 'node:assert/strict';
import { after, type TestContext } from 'node:test';
import { type Problem, problems } from '../../src/contract/problems.ts';
import { withLimits } from '../helpers/faults.ts';
import { oneThread, startServer, storePath } from '../helpers/program.ts';
import { assertRefusal, connectRaw, type RawConnection } from '../helpers/raw.ts';
import { reset } from '../helpers/reset.ts';
import { storedPlants } from '../helpers/store-file.ts';
import { seededRandom } from '../torture/workload.ts';
import { type Answer, create, type HttpCase, httpCases, oneChunk } from './http-cases.ts';

/** Makes the packets in which the bytes of a case are sent. */
type Split = (bytes: Buffer, random: () => number) => Buffer[];

/** Of a long request, the time to arrive would not be enough. */
export const byteByByte: Split = (bytes, random) =>
  bytes.length > 1_000 ? atRandom(bytes, random) : Array.from(bytes, (byte) => Buffer.of(byte));

export const atRandom: Split = (bytes, random) => {
  const cuts = Array.from({ length: 1 + Math.floor(random() * 6) }, () =>
    Math.floor(random() * bytes.length),
  );
  const at = [0, ...cuts.sort((a, b) => a - b), bytes.length];
  return at.slice(1).map((end, index) => bytes.subarray(at[index], end));
};

export const store = await storePath({ after });
/** So that no request on a busy machine is cut, and it waits for who sends on after a refusal. */
const patient = { headersMs: 3_600_000, requestMs: 3_600_000, lingerMs: 3_600_000 };
/** The cases for operators are for a host of this name. */
const { port, opsUrl, stderr, stop } = await startServer(
  { after },
  store,
  [...oneThread, '--commit-timeout', '60s', '--ops-names', 'a'],
  withLimits({ http: patient }),
);

export { port };

/** Every id that was sent, with the case and the plant that it belongs to. */
const sentIds = new Map<number, string>();
/** The ids that were answered 200. */
const createdIds = new Set<number>();

export const cases = Object.entries(httpCases).flatMap(([part, ofPart]) =>
  ofPart.map((one) => ({ ...one, what: `${part}: ${one.what}` })),
);

const firstId = 1_000_000_000;
/** The create that follows the bytes of a case, and one that goes before them. */
const behind = 0;
export const ahead = 51;

/** What makes a request malformed whatever it asks for. */
const malformed: readonly Answer[] = [
  'httpMalformed',
  'headersTooLarge',
  'versionUnsupported',
  'expectationFailed',
  'bodyTooLarge',
];
const ofAllPorts = cases.filter(
  ({ answers, after }) =>
    after !== 'open' && answers.length === 1 && malformed.includes(answers[0] ?? 0),
);

/** Each case is answered as it says, however it is split, some of them at the same time. */
export async function assertAnswered(t: TestContext, splits: readonly Split[]): Promise<void> {
  const left = cases.entries();
  const lane = async () => {
    for (const [index, one] of left)
      for (const [way, split] of splits.entries())
        await run(t, port, one, split, seededRandom(index * splits.length + way));
  };
  await Promise.all(Array.from({ length: 16 }, lane));
}

/** What is malformed is refused on the operators' port just so: each `every`th such case. */
export async function assertRefusedToOperators(t: TestContext, every: number): Promise<void> {
  const opsPort = Number(new URL(opsUrl).port);
  assert(ofAllPorts.length > 200, `${ofAllPorts.length}`);
  for (const [index, one] of ofAllPorts.entries())
    if (index % every === 0) await run(t, opsPort, one, atRandom, seededRandom(index));
}

/** A reset after each `every`th byte of some requests disturbs no other client. */
export async function assertUndisturbed(t: TestContext, every: number): Promise<void> {
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
    for (let length = 0; length <= bytes.length; length += every) {
      const connection = await connectRaw(t, port);
      connection.send(bytes.subarray(0, length));
      await new Promise(setImmediate);
      reset(connection.socket);
    }
  }
  await run(t, port, whole, (bytes) => [bytes]);
}

/** Stops the service: nothing was stored but what was answered 200, and nothing was a defect. */
export async function assertStored(): Promise<void> {
  assert.equal(await stop(), 0);
  const stored = new Set(storedPlants(store).map(([id]) => Number(id)));
  const named = (ids: ReadonlySet<number>) => [...ids].map((id) => sentIds.get(id) ?? id);
  assert.deepEqual(named(stored.difference(createdIds)), [], 'stored, but not answered 200');
  assert.deepEqual(named(createdIds.difference(stored)), [], 'answered 200, but not stored');
  assert.doesNotMatch(stderr(), /"level":"(error|fatal)"/);
}

/** The bytes of a case and what belongs behind them, with ids that nothing else has. */
export function fill(one: HttpCase) {
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
  split: Split,
  random = seededRandom(0),
): Promise<void> {
  const { ids, bytes, more } = fill(one);
  const packets = split(bytes, random);
  // The first byte of what follows comes with the last of what is before it.
  const last = Buffer.concat([packets.pop() ?? bytes, more]);

  const connection = await connectRaw(t, port);
  const sending = connection.sendApart([...packets, last]);
  if (one.after !== 'closed') sending.then(() => connection.socket.end());
  try {
    await assertAnswers(connection, one, ids);
    await sending;
  } catch (error) {
    throw new Error(`${one.what}: sent in ${packets.length} packets and ${last.length} bytes`, {
      cause: error,
    });
  } finally {
    connection.socket.destroy();
  }
}

/**
 * Asserts that the answers are those of the case and no more, and that the connection then ends.
 */
export async function assertAnswers(
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
