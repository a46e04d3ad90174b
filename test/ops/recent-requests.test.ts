import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ProblemName, Refusal } from '../../src/contract/problems.ts';
import type { Sender } from '../../src/http/exchange.ts';
import { limits } from '../../src/limits.ts';
import { listRequests } from '../../src/ops/api/requests.ts';
import type { RequestList } from '../../src/ops/contract.ts';
import {
  openRecentRequests,
  type RequestLog,
  type RequestsOfThread,
  type RequestsWanted,
} from '../../src/ops/recent-requests.ts';
import { rememberRequests } from '../../src/service/request-memory.ts';

const { refusalsKept, causeCharsMax, createsKept, createEveryMs, requestsMs } = limits.ops;
const { refusalsTraced, sendersTraced } = limits.ops;

const keptOf = (log: RequestLog) => log.after(0).map(({ entry }) => entry);
const idsOf = (log: RequestLog) => keptOf(log).map(({ requestId }) => requestId);

/** The memory of a thread at a time that the test sets, and what the thread notes. */
function thread(prefix: string) {
  const clock = { nowMs: 0 };
  const memory = rememberRequests(prefix, () => clock.nowMs);
  let number = 0;
  const senders = new Map<string, Sender>();
  const senderOf = (name: string) => {
    const sender = senders.get(name) ?? { name, noteRefused: () => undefined };
    senders.set(name, sender);
    return sender;
  };
  const request = (sender?: string) => ({
    ...{ number: (number += 1), requestId: '', client: '192.0.2.1', line: 'POST /plants' },
    sender: sender === undefined ? undefined : senderOf(sender),
    traceparent: undefined,
  });
  return {
    recall: async (wanted: RequestsWanted) => memory.recall(wanted, number),
    refuse(atMs: number, sender = 'app', problem: ProblemName = 'bodyMalformed') {
      clock.nowMs = atMs;
      memory.noteRefusal(new Refusal(problem, 'No.'), request(sender));
    },
    fail(cause: string) {
      const refusal = new Refusal('storeUnavailable', 'No.', undefined, cause);
      memory.noteRefusal(refusal, request('app'));
    },
    refuseUnknown(atMs: number) {
      clock.nowMs = atMs;
      memory.noteRefusal(new Refusal('tokenInvalid', 'No.'), request());
    },
    /** Takes a number, and is not noted. */
    accept: () => void request(),
    create(atMs: number, sender = 'app') {
      clock.nowMs = atMs;
      memory.noteCreate('created', request(sender), atMs);
    },
  };
}

test('the refusals of all threads are merged by their time, and each is told once', async () => {
  const [one, other] = [thread('one'), thread('other')];
  const recent = openRecentRequests([one.recall, other.recall]);
  one.refuse(1);
  other.refuse(2);
  one.refuse(3);
  const ids = async () => idsOf((await recent.read()).known);
  assert.deepEqual(await ids(), ['one-1', 'other-1', 'one-2']);
  other.refuse(4);
  // Readers at the same time share a round.
  const [first, second] = await Promise.all([ids(), ids()]);
  assert.deepEqual(first, ['one-1', 'other-1', 'one-2', 'other-2']);
  assert.deepEqual(second, first);
  const { known } = await recent.read();
  assert.deepEqual(keptOf(known)[0], {
    ...{ atMs: 1, requestId: 'one-1', outcome: 'bodyMalformed', message: 'No.' },
    ...{ client: '192.0.2.1', sender: 'app', line: 'POST /plants' },
    cause: undefined,
  });
});

test('a long cause is cut', async () => {
  const one = thread('one');
  const recent = openRecentRequests([one.recall]);
  one.fail('x'.repeat(causeCharsMax + 1));
  one.fail('x'.repeat(causeCharsMax));
  const causes = keptOf((await recent.read()).known).map(({ cause }) => cause);
  const most = 'x'.repeat(causeCharsMax);
  assert.deepEqual(causes, [`${most}…`, most]);
});

test('what is remembered is bounded, and what is forgotten is counted', async () => {
  const [one, other] = [thread('one'), thread('other')];
  const recent = openRecentRequests([one.recall, other.recall]);
  for (let atMs = 1; atMs <= 2 * refusalsKept; atMs++) one.refuse(atMs);
  other.refuse(2 * refusalsKept);
  const { known } = await recent.read();
  assert.deepEqual([keptOf(known).length, known.made], [refusalsKept, 2 * refusalsKept + 1]);
  assert.equal(idsOf(known).at(-1), 'other-1');
  for (let atMs = 1; atMs <= 3; atMs++) one.refuse(atMs);
  // The clock was set back: the later requests stay the last ones.
  const again = (await recent.read()).known;
  assert.deepEqual([keptOf(again).length, again.made], [refusalsKept, 2 * refusalsKept + 4]);
  assert.deepEqual(
    keptOf(again)
      .slice(-3)
      .map(({ atMs }) => atMs),
    [1, 2, 3],
  );
});

test('a flood without a token makes no refusal of a client forgotten', async () => {
  const one = thread('one');
  const recent = openRecentRequests([one.recall]);
  one.refuse(1);
  for (let atMs = 2; atMs <= refusalsKept + 2; atMs++) one.refuseUnknown(atMs);
  const { known, unknown } = await recent.read();
  assert.deepEqual(
    [idsOf(known), keptOf(unknown).length, unknown.made],
    [['one-1'], refusalsKept, refusalsKept + 1],
  );
});

test('a flood of one client makes no refusal of another forgotten, and none of its own with another code', async () => {
  const one = thread('one');
  const recent = openRecentRequests([one.recall]);
  one.refuse(1, 'app');
  one.refuse(2, 'flood', 'idTaken');
  for (let atMs = 3; atMs <= 2 * refusalsKept; atMs++) one.refuse(atMs, 'flood');
  const { known } = await recent.read();
  assert.deepEqual(
    [idsOf(known).slice(0, 2), keptOf(known).length, known.made],
    [['one-1', 'one-2'], refusalsKept, 2 * refusalsKept],
  );
});

test('creates are sampled: the next create of a client on a thread after each interval', async () => {
  const one = thread('one');
  const recent = openRecentRequests([one.recall]);
  const sampled = async () =>
    keptOf((await recent.read()).creates).map(({ sender, atMs }) => [sender, atMs]);
  for (const atMs of [1, 2, createEveryMs, 1 + createEveryMs]) one.create(atMs);
  one.create(2 + createEveryMs, 'rare');
  assert.deepEqual(await sampled(), [
    ['app', 1],
    ['app', 1 + createEveryMs],
    ['rare', 2 + createEveryMs],
  ]);
  for (let count = 2; count <= createsKept + 2; count++) one.create(1 + count * createEveryMs);
  const kept = await sampled();
  assert.deepEqual([kept.length, kept[0]], [createsKept, ['rare', 2 + createEveryMs]]);
});

test('a thread that does not answer in time is left out, and its late answer tells nothing twice', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const [one, slow] = [thread('one'), thread('slow')];
  const waiting: (() => void)[] = [];
  let pending = Promise.withResolvers<RequestsOfThread>();
  const recent = openRecentRequests([
    one.recall,
    (wanted) => {
      // As a thread: a late answer is taken for the answer to the last request.
      pending = Promise.withResolvers();
      waiting.push(async () => pending.resolve(await slow.recall(wanted)));
      return pending.promise;
    },
  ]);
  const ids = async () => idsOf((await recent.read()).known);
  const asked = async (count: number) => {
    while (waiting.length < count) await new Promise(setImmediate);
  };
  one.refuse(1);
  slow.refuse(2);
  const first = ids();
  await asked(1);
  t.mock.timers.tick(requestsMs);
  assert.deepEqual(await first, ['one-1']);

  const second = ids();
  await asked(2);
  waiting[0]?.();
  assert.deepEqual(await second, ['one-1', 'slow-1']);
  slow.refuse(3);
  const third = ids();
  await asked(3);
  waiting[1]?.();
  assert.deepEqual(await third, ['one-1', 'slow-1', 'slow-2']);
});

test('a create is listed for a minute, and a refusal for as long as it is remembered', async () => {
  const one = thread('one');
  const recent = openRecentRequests([one.recall]);
  const clock = { nowMs: 0 };
  const list = listRequests(recent, () => clock.nowMs);
  const request = {
    method: 'GET',
    url: new URL('http://localhost/api/requests'),
    query: { creates: 'true' },
    fields: new Map(),
    body: Buffer.alloc(0),
    signal: new AbortController().signal,
  };
  const listed = async () => {
    const { body } = await list(request);
    const { requests } = JSON.parse(`${body}`) as RequestList;
    return requests.map(({ outcome }) => outcome);
  };
  one.refuse(1);
  one.create(1_000);
  clock.nowMs = 1_000 + limits.ops.createsShownMs;
  assert.deepEqual(await listed(), ['created', 'refused']);
  clock.nowMs += 1;
  assert.deepEqual(await listed(), ['refused']);
});

test('a request is traced in the memory of its thread, with the refusals around it', async () => {
  const [one, other] = [thread('one'), thread('other')];
  const recent = openRecentRequests([one.recall, other.recall]);
  one.refuse(10, 'app', 'idTaken');
  one.accept();
  one.refuseUnknown(30);
  other.refuse(20);
  const none = { afterMs: -Infinity, beforeMs: Infinity };
  const certain = { isGiven: true, refusal: undefined, isCertain: true };
  const [first, second, third, later, ofNone] = await Promise.all(
    ['one-1', 'one-2', 'one-3', 'one-4', 'none-1'].map(recent.traceOf),
  );
  assert.deepEqual(first, {
    ...{ isGiven: true, refusal: { atMs: 10, problem: 'idTaken', sender: 'app' }, isCertain: true },
    ...{ ...none, beforeMs: 30 },
  });
  assert.deepEqual(second, { ...certain, afterMs: 10, beforeMs: 30 });
  assert.deepEqual(third?.refusal, { atMs: 30, problem: 'tokenInvalid', sender: undefined });
  assert.deepEqual(later, { ...certain, ...none, isGiven: false, afterMs: 30 });
  assert.equal(ofNone, undefined);
});

test('the traces are bounded, a flood without a token takes no trace of a client, and what is lost is said', async () => {
  const one = thread('one');
  const recent = openRecentRequests([one.recall]);
  one.refuse(1, 'app');
  one.refuseUnknown(2);
  for (let more = 0; more < refusalsTraced; more += 1) one.refuseUnknown(3);
  const [kept, lost] = [await recent.traceOf('one-1'), await recent.traceOf('one-2')];
  assert.deepEqual(kept?.refusal, { atMs: 1, problem: 'bodyMalformed', sender: 'app' });
  assert.deepEqual([lost?.refusal, lost?.isCertain], [undefined, false]);
  assert.deepEqual([lost?.afterMs, lost?.beforeMs], [1, 3]);
  assert.equal((await recent.traceOf('one-3'))?.isCertain, true);
});

test('the names of senders in the traces are bounded', async () => {
  const one = thread('one');
  const recent = openRecentRequests([one.recall]);
  for (let sender = 1; sender <= sendersTraced + 1; sender += 1) one.refuse(1, `app-${sender}`);
  one.refuse(1, 'app-1');
  const senderOf = async (number: number) =>
    (await recent.traceOf(`one-${number.toString(36)}`))?.refusal?.sender;
  assert.equal(await senderOf(sendersTraced), `app-${sendersTraced}`);
  assert.equal(await senderOf(sendersTraced + 1), undefined);
  assert.equal(await senderOf(sendersTraced + 2), 'app-1');
});
