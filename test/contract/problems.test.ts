import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type OperatorProblemName,
  operatorProblems,
} from '../../src/contract/operator-problems.ts';
import type { Problem } from '../../src/contract/problems.ts';

/**
 * The catalogue as it is promised to operators; `test/service/refusals.test.ts` has that of clients. A
 * number, once here, stays and keeps its meaning.
 */
const promisedToOperators: readonly (readonly [
  code: number,
  status: number,
  name: OperatorProblemName,
])[] = [
  [40000, 400, 'bodyMalformed'],
  [40006, 400, 'httpMalformed'],
  [40050, 400, 'bodyWrong'],
  [40051, 400, 'queryWrong'],
  [40150, 401, 'notSignedIn'],
  [40151, 401, 'signInRefused'],
  [40152, 401, 'linkRefused'],
  [40301, 403, 'otherSite'],
  [40350, 403, 'notOperator'],
  [40400, 404, 'pathUnknown'],
  [40450, 404, 'recordUnknown'],
  [40500, 405, 'methodNotAllowed'],
  [40800, 408, 'requestTimeout'],
  [40900, 409, 'tokenNameTaken'],
  [40901, 409, 'tokensTooMany'],
  [40950, 409, 'tokenInRotation'],
  [40955, 409, 'jobUnderWay'],
  [40956, 409, 'backupsOff'],
  [41300, 413, 'bodyTooLarge'],
  [41500, 415, 'mediaTypeUnsupported'],
  [41700, 417, 'expectationFailed'],
  [42100, 421, 'hostUnknown'],
  [42950, 429, 'signInsTooMany'],
  [43100, 431, 'headersTooLarge'],
  [50000, 500, 'defect'],
  [50301, 503, 'storeUnavailable'],
  [50302, 503, 'shuttingDown'],
  [50500, 505, 'versionUnsupported'],
];

test('the catalogue of operators has the rows that are promised, in the order of their numbers', () => {
  const rows = Object.entries<Problem>(operatorProblems);
  assert.deepEqual(
    rows.map(([name, { code, status }]) => [code, status, name]),
    promisedToOperators,
  );
});
