import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '../src/limits.ts';

test('limits that depend on each other fit together', () => {
  assert(limits.tokensRefreshMs < limits.tokensStaleMs, 'tokens must be read again before they count as stale');
  assert(limits.bodyBytesMax <= limits.queueBytesMax, 'the largest plant must fit into the queue');
  assert(limits.queueBytesMax <= limits.arrivingBytesMax, 'whatever fits into the queue must be able to arrive');
  assert(2 * limits.heartbeatEveryMs <= limits.heartbeatStaleMs, 'one heartbeat that is late does not make the service unready');
  assert(limits.headersMs <= limits.requestMs, 'header fields are a part of the request');
  assert(
    2 * limits.checkpointPages * 4_096 <= limits.freeBytesMin &&
      limits.freeBytesMin < limits.freeBytesLow &&
      limits.freeInodesMin < limits.freeInodesLow,
    'what is an error must have been a warning',
  );
  assert(
    limits.logBytesKept < limits.logBytesHigh && limits.logBytesHigh < limits.logBytesMax,
    'a log is warned of before it is at its limit, and not as long as it is of the usual size',
  );
  assert(limits.freeBytesLow <= limits.freeBytesPlenty, 'plenty is more than little');
});
