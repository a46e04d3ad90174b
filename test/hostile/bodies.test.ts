import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import fc from 'fast-check';
import type { NewPlant } from '../../src/contract/plant.ts';
import { type ProblemName, problems } from '../../src/contract/problems.ts';
import { type HostileBody, hostileBody } from '../contract/hostile-bodies.ts';
import { runs } from '../contract/json-text.ts';
import { worthOf } from '../contract/plant-reference.ts';
import { oneThread } from '../helpers/program.ts';
import {
  assertRefusal,
  connectRaw,
  type RawReply,
  type RawRequest,
  rawRequest,
} from '../helpers/raw.ts';
import { shareServer } from '../helpers/shared-server.ts';
import { storedPlants } from '../helpers/store-file.ts';
import { sendInLanes } from './lanes.ts';
import { scale } from './scale.ts';

/** Smaller than by default, so that bodies of this size cost little. */
const bodyBytesMax = 100_000;
const sharedServer = await shareServer([...oneThread, '--body-limit', `${bodyBytesMax}`]);

// The runs are the same every time; PROPERTY_SEED=7 makes them other ones (see json-text.ts).

const { seed } = runs;
const sentBodies = scale({ short: 300, long: 50_000 });

type Outcome = 'created' | ProblemName;

interface Sent extends HostileBody {
  readonly index: number;
  readonly expected: NewPlant | ProblemName;
  /**
   * Bodies with the same id are sent over the same connection, so that they arrive in their order.
   */
  readonly lane: number;
}

/**
 * What must be answered to each body if those with the same id are sent in this order, and what
 * must then be stored.
 */
function expectReplies(bodies: readonly HostileBody[]): { sent: Sent[]; stored: NewPlant[] } {
  const held = new Map<bigint, NewPlant>();
  const sent = bodies.map(({ kind, bytes }, index): Sent => {
    const worth = bytes.length > bodyBytesMax ? 'bodyTooLarge' : worthOf(bytes);
    if (typeof worth === 'string')
      return { kind, bytes, index, expected: worth, lane: index % lanesCount };
    const before = held.get(worth.id) ?? worth;
    held.set(worth.id, before);
    const expected = before.name === worth.name && before.tag === worth.tag ? worth : 'idTaken';
    return {
      kind,
      bytes,
      index,
      expected,
      lane: Number(BigInt.asUintN(64, worth.id) % BigInt(lanesCount)),
    };
  });
  return { sent, stored: [...held.values()].sort((a, b) => (a.id < b.id ? -1 : 1)) };
}

const lanesCount = 32;

/**
 * As a client would send it; some come in chunks that are cut anywhere, also inside of a character.
 */
function requestOf({ bytes, index }: Sent): Buffer {
  if (index % 5 !== 0 || bytes.length === 0) return rawRequest(bytes);
  const head = rawRequest('', {
    fields: { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' },
  });
  const parts = [head];
  for (let start = 0, size = 1 + (index % 7); start < bytes.length; start += size, size *= 3) {
    const chunk = bytes.subarray(start, start + size);
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

function assertReply({ kind, bytes, expected }: Sent, reply: RawReply): void {
  const what = `${kind}: ${bytes.toString('latin1').slice(0, 200)}`;
  if (typeof expected === 'string') {
    assert.equal(reply.status, problems[expected].status, what);
    assertRefusal(reply, expected);
    return;
  }
  assert.equal(reply.status, 200, `${what} ${reply.body.slice(0, 200)}`);
  const { name, tag } = expected;
  assert.deepEqual(JSON.parse(reply.body), tag === undefined ? { name } : { name, tag }, what);
}

/**
 * Sends them all to a new server, and compares its replies and then its store with what they must
 * be.
 */
async function assertAllAnswered(t: TestContext, bodies: readonly HostileBody[]) {
  const { port, store } = sharedServer();
  const { sent, stored } = expectReplies(bodies);
  const tally = new Map<Outcome, number>();
  const lanes = Array.from({ length: lanesCount }, (_, lane) =>
    sent.filter((one) => one.lane === lane),
  );
  await sendInLanes(t, port, lanes, requestOf, (one, reply) => {
    assertReply(one, reply);
    const outcome = typeof one.expected === 'string' ? one.expected : 'created';
    tally.set(outcome, (tally.get(outcome) ?? 0) + 1);
  });
  const rows = stored.map(({ id, name, tag }) => [id, name, tag ?? null]);
  assert.deepEqual(storedPlants(store), rows);
  return (outcome: Outcome) => tally.get(outcome) ?? 0;
}

test('any bytes as a body get the code of the reference, and only the plants are stored, exactly', async (t) => {
  const count = await assertAllAnswered(
    t,
    fc.sample(hostileBody, { numRuns: sentBodies, seed: seed + 1 }),
  );
  for (const outcome of [
    'created',
    'bodyMalformed',
    'notNewPlant',
    'idNotInt64',
    'textNotStorable',
    'idTaken',
  ] as const) {
    assert(count(outcome) > sentBodies / 50, `${outcome}: ${count(outcome)}`);
  }
});

test('bodies up to the limit are read to their last byte, and larger ones are refused', async (t) => {
  const max = bodyBytesMax;
  /** Long by its name, or by what stands where the name would. */
  const filled = (n: number, before: string, unit: string, after: string, length: number) => {
    const head = Buffer.from(`{"id":${n},${before}`);
    const times = Math.floor((length - head.length - after.length) / Buffer.byteLength(unit));
    const body = Buffer.concat([head, Buffer.from(unit.repeat(times)), Buffer.from(after)]);
    return Buffer.concat([body, Buffer.alloc(Math.max(0, length - body.length), ' ')]);
  };
  const ways: readonly (readonly [kind: string, before: string, unit: string, after: string])[] = [
    ['a long name', '"name":"', 'a', '"}'],
    ['a long name of escapes', '"name":"', '\\u00e9', '"}'],
    ['a long tag', '"name":"a","tag":"', 'é', '"}'],
    ['a long name that ends in half a pair', '"name":"', '🌱', '\\ud83c"}'],
    ['white space', '"name":"a"', ' ', '}'],
    ['a long ignored number', '"name":"a","x":', '1', '}'],
    ['a long list', '"name":"a","x":[1', ',1', ']}'],
  ];
  const bodies = ways.flatMap(([kind, before, unit, after], way) =>
    [max, max + 1].map((length, by) => ({
      kind,
      bytes: filled(way * 10 + by, before, unit, after, length),
    })),
  );
  const longIds = [
    '1'.repeat(max - 30),
    `${'0'.repeat(max - 30)}`,
    `1${'0'.repeat(max - 50)}e-${max - 51}`,
  ];
  const count = await assertAllAnswered(t, [
    ...bodies,
    ...longIds.map((id) => ({ kind: 'a long id', bytes: Buffer.from(`{"id":${id},"name":"a"}`) })),
  ]);
  assert.equal(count('bodyTooLarge'), ways.length);
  assert(count('created') > ways.length / 2, `${count('created')}`);
});

/** Values of Content-Type: undefined is none, a list is several. */
const mediaTypesRead: readonly string[] = [
  // In any case (RFC 9110 §8.3.1), and however UTF-8 is spelled.
  ...['Application/JSON', '  application/json \t', 'application/json;charset=utf-8'],
  'application/json; charset="ut\\f-8"',
  // Parameters that mean nothing here (RFC 9110 §5.6.6).
  'application/json;;; charset=utf-8;',
  'application/json; x="\\""; charset=utf-8',
  'application/json; x="charset=latin1"; xcharset=latin1',
  `application/json; x=${'a'.repeat(8_000)}`,
];
const mediaTypesRefused: readonly (string | readonly string[] | undefined)[] = [
  // Another charset, or two.
  ...['application/json; charset=latin1', 'application/json; charset=utf-8*'],
  'application/json; charset=utf-8; charset=latin1',
  'application/json; charset=latin1; CHARSET=utf-8',
  // Another media type, none by its syntax, several, and no field.
  ...['application/ld+json', 'text/plain', 'application/*', '*/*'],
  ...['', 'json', 'application/', 'application/json; charset="utf-8'],
  ...['application/json, charset=utf-8', 'application/json, application/json'],
  ...['application/json, text/plain', 'application/json; charset="utf-8", text/plain'],
  ...[`application/json${'x'.repeat(8_000)}`, undefined],
];

/** Values of Content-Encoding (RFC 9110 §8.4.1): each is refused, identity, too. */
const codings = ['gzip', 'Identity', 'gzip, identity', 'x', '', ',', ['identity', 'gzip']];

/** What is no plant, and sometimes not announced as one either. */
const withoutPlant: readonly (readonly [
  body: string,
  fields: RawRequest['fields'],
  problem: ProblemName,
])[] = [
  ['0\r\n\r\n', { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' }, 'bodyMalformed'],
  ['{', { 'Content-Type': 'text/plain', 'Content-Encoding': 'gzip' }, 'mediaTypeUnsupported'],
  ['', { 'Content-Length': '100001', 'Content-Type': 'text/plain' }, 'mediaTypeUnsupported'],
];

test('a body is read if it is application/json in UTF-8 without a coding, and 41500 is answered to any other', async (t) => {
  const { port, store } = sharedServer();
  const connection = await connectRaw(t, port);
  const stored: [bigint, string, null][] = [];
  let id = 0;
  const send = async (fields: NonNullable<RawRequest['fields']>, problem?: ProblemName) => {
    id += 1;
    connection.send(rawRequest(`{"id":${id},"name":"Alder"}`, { fields }));
    const reply = await connection.reply();
    const what = JSON.stringify(fields).slice(0, 200);
    assert.equal(reply.status, problem === undefined ? 200 : problems[problem].status, what);
    if (problem === undefined) stored.push([BigInt(id), 'Alder', null]);
    else assertRefusal(reply, problem);
  };
  for (const type of mediaTypesRead) await send({ 'Content-Type': type });
  for (const type of mediaTypesRefused)
    await send({ 'Content-Type': type }, 'mediaTypeUnsupported');
  for (const coding of codings) await send({ 'Content-Encoding': coding }, 'mediaTypeUnsupported');
  await send({ 'Content-Language': 'x', 'Content-MD5': 'x', 'Content-Location': '/plants/1' });
  await send({ 'Accept-Encoding': 'gzip', 'Accept-Charset': 'latin1', Accept: 'text/html' });
  for (const [body, fields, problem] of withoutPlant) {
    const one = await connectRaw(t, port);
    one.send(rawRequest(body, { fields: fields ?? {} }));
    assertRefusal(await one.reply(), problem);
  }
  assert.deepEqual(storedPlants(store), stored);
});
