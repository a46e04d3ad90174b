import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type OperatorProblemName,
  operatorProblems,
} from '../../src/contract/operator-problems.ts';
import { type Problem, type ProblemName, problems } from '../../src/contract/problems.ts';

/** The catalogue as it is promised to clients. A number, once here, stays and keeps its meaning. */
const promised: readonly (readonly [code: number, status: number, name: ProblemName])[] = [
  [40000, 400, 'bodyMalformed'],
  [40001, 400, 'notNewPlant'],
  [40002, 400, 'idNotInt64'],
  [40003, 400, 'textNotStorable'],
  [40004, 400, 'idTaken'],
  [40005, 400, 'authorizationMalformed'],
  [40006, 400, 'httpMalformed'],
  [40100, 401, 'tokenMissing'],
  [40101, 401, 'tokenInvalid'],
  [40300, 403, 'scopeInsufficient'],
  [40400, 404, 'pathUnknown'],
  [40500, 405, 'methodNotAllowed'],
  [40800, 408, 'requestTimeout'],
  [41300, 413, 'bodyTooLarge'],
  [41500, 415, 'mediaTypeUnsupported'],
  [41700, 417, 'expectationFailed'],
  [42900, 429, 'rateLimited'],
  [43100, 431, 'headersTooLarge'],
  [50000, 500, 'defect'],
  [50300, 503, 'overloaded'],
  [50301, 503, 'storeUnavailable'],
  [50302, 503, 'shuttingDown'],
  [50500, 505, 'versionUnsupported'],
];

/** Header fields that a reply must carry: RFC 6750 §3, and RFC 9110 §15.5.2 and §10.2.3. */
const promisedHeaders: Partial<Readonly<Record<ProblemName, Readonly<Record<string, string>>>>> = {
  authorizationMalformed: { 'WWW-Authenticate': 'Bearer error="invalid_request"' },
  tokenMissing: { 'WWW-Authenticate': 'Bearer' },
  tokenInvalid: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
  scopeInsufficient: { 'WWW-Authenticate': 'Bearer error="insufficient_scope"' },
  rateLimited: { 'Retry-After': '1' },
  overloaded: { 'Retry-After': '1' },
  storeUnavailable: { 'Retry-After': '1' },
  shuttingDown: { 'Retry-After': '1' },
};

/** The same for operators: besides rows of the catalogue of clients, these. */
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

const catalogue = Object.entries<Problem>(problems) as [ProblemName, Problem][];
const ofOperators = Object.entries<Problem>(operatorProblems) as [OperatorProblemName, Problem][];

test('the catalogue has the rows that are promised, in the order of their numbers, and no other', () => {
  assert.deepEqual(
    catalogue.map(([name, { code, status }]) => [code, status, name]),
    promised,
  );
  assert.deepEqual(
    ofOperators.map(([name, { code, status }]) => [code, status, name]),
    promisedToOperators,
  );
});

test('a reply carries the header fields that its problem asks for', () => {
  for (const [name, { headers }] of catalogue) {
    const { Connection: connection, ...others } = headers;
    assert.deepEqual(others, promisedHeaders[name] ?? {}, name);
    assert(connection === undefined || connection === 'close', name);
  }
});
