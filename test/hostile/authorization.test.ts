import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { Outage } from '../../src/access/access.ts';
import { generateToken, hashToken, openOpaqueTokens } from '../../src/access/opaque-tokens.ts';
import { Tally } from '../../src/access/tally.ts';
import { type ProblemName, problems } from '../../src/contract/problems.ts';
import { limits } from '../../src/limits.ts';
import { openSqliteStore } from '../../src/store/sqlite/store.ts';
import { type RunningServer, startServer, storePath } from '../helpers/program.ts';
import { assertRefusal, connectRaw, type RawReply } from '../helpers/raw.ts';
import { storedPlants } from '../helpers/store-file.ts';
import { sendInLanes } from './lanes.ts';
import { rankTestZ } from './rank-test.ts';
import { scale } from './scale.ts';

/** The characters of a b64token (RFC 6750 §2.1), but for the = that may end it. */
const b64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/';
/** As long as a token may be, and of every character that may be in one. */
const longToken = `${b64}${'a'.repeat(limits.access.tokenCharsMax - b64.length - 2)}==`;
const [valid, revoked, expired, operate, unknown] = Array.from({ length: 5 }, generateToken) as [
  string,
  string,
  string,
  string,
  string,
];

/** One server for the whole file. At the end its store must hold exactly these plants. */
let server: RunningServer;
let store: string;
const created: bigint[] = [];

const cleanups: (() => unknown)[] = [];
const owner = { after: (cleanup: () => unknown) => void cleanups.push(cleanup) };

before(async () => {
  store = await storePath(owner);
  const tokenStore = await openSqliteStore(store, 5_000);
  const create = (name: string, token: string, role: 'create' | 'operate', expiresAtMs?: number) =>
    tokenStore.createToken(
      { name, hash: hashToken(token), role, createdAtMs: 0, expiresAtMs },
      limits.access.liveTokensMax,
    );
  await create('valid', valid, 'create');
  await create('revoked', revoked, 'create');
  await create('expired', expired, 'create', 1);
  await create('operate', operate, 'operate');
  await tokenStore.revokeToken('revoked', 1);
  await tokenStore.close();
  server = await startServer(owner, store, [], { PLANT_STORE_TOKEN: longToken });
});

after(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
});

/**
 * What of a request differs from a create that has everything but authorization; the lines are sent
 * as they stand here.
 */
interface Case {
  readonly lines: readonly string[];
  readonly target?: string;
  readonly body?: (plant: string) => string;
  /** undefined is a 200. */
  readonly problem: ProblemName | undefined;
}

function accepted(...lines: readonly string[]): Case {
  return { lines, problem: undefined };
}

function refused(problem: ProblemName, ...lines: readonly string[]): Case {
  return { lines, problem };
}

const malformed = (...values: readonly string[]) =>
  refused('authorizationMalformed', ...values.map((value) => `Authorization: ${value}`));
const missing = (value: string) => refused('tokenMissing', `Authorization: ${value}`);
const invalid = (token: string) => refused('tokenInvalid', `Authorization: Bearer ${token}`);
const right = `Authorization: Bearer ${valid}`;
const wrong = `Authorization: Bearer ${unknown}`;

const characters = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => String.fromCharCode(from + index));
const chunked = ['Transfer-Encoding: chunked'];

/** By what RFC 6750 and RFC 9110 to 9112 say about them. */
const cases: Readonly<Record<string, readonly Case[]>> = {
  'the scheme in any case (RFC 9110 §11.1)': ['Bearer', 'bearer', 'BEARER', 'bEARER', 'BeArEr'].map(
    (scheme) => accepted(`Authorization: ${scheme} ${valid}`),
  ),
  'the field name in any case (RFC 9110 §5.1)': [
    'authorization',
    'AUTHORIZATION',
    'aUTHORIZATION',
  ].map((name) => accepted(`${name}: Bearer ${valid}`)),
  'white space around the value (RFC 9110 §5.5)': [':', ':   ', ':\t', ': \t \t'].flatMap(
    (colon) => [
      accepted(`Authorization${colon}Bearer ${valid}`),
      accepted(`Authorization${colon}Bearer ${valid} \t`),
    ],
  ),
  'one or more spaces after the scheme (RFC 9110 §11.4)': [
    ...[1, 2, 100, 8_000].map((count) =>
      accepted(`Authorization: Bearer${' '.repeat(count)}${valid}`),
    ),
    ...['\t', ' \t', '\t ', '\xa0', ' \xa0'].map((space) => malformed(`Bearer${space}${valid}`)),
  ],
  'any b64token (RFC 6750 §2.1)': [
    accepted(`Authorization: Bearer ${longToken}`),
    ...['a', '0', '/', 'a=', `a${'='.repeat(500)}`, b64, `${valid}=`].map(invalid),
    ...[`${valid}a`, valid.slice(0, -1), 'a'.repeat(512)].map(invalid),
  ],
  'no b64token (RFC 6750 §2.1)': [
    ...[`=${valid}`, 'a=b', `${valid}=${valid}`, `"${valid}"`, `%70${valid.slice(1)}`].map(
      (token) => malformed(`Bearer ${token}`),
    ),
    ...[...characters(0x21, 0x7e), ...characters(0x80, 0xff)]
      .filter((character) => !b64.includes(character) && character !== '=')
      .flatMap((character) => [
        malformed(`Bearer ${valid}${character}`),
        malformed(`Bearer ${valid.slice(0, 9)}${character}${valid.slice(9)}`),
      ]),
  ],
  'control characters (RFC 9110 §5.5)': [
    ...characters(0x01, 0x08),
    ...characters(0x0b, 0x0c),
    ...characters(0x0e, 0x1f),
    '\0',
    '\x7f',
  ].map((control) =>
    refused(
      'httpMalformed',
      `Authorization: Bearer ${valid.slice(0, 9)}${control}${valid.slice(9)}`,
    ),
  ),
  'more than one token (RFC 6750 §2.1)': [
    ...[`x ${valid}`, `${valid},${valid}`, `${valid}, Bearer ${valid}`, `Bearer ${valid}`].map(
      (tokens) => malformed(`Bearer ${tokens}`),
    ),
    ...[
      `Bearer ${valid},`,
      `,Bearer ${valid}`,
      `Bearer ,${valid}`,
      `Bearer ${valid}, Basic YTpi`,
    ].map((value) => malformed(value)),
    ...[missing(`Basic YTpi, Bearer ${valid}`), missing(`Basic YTpi Bearer ${valid}`)],
  ],
  'parameters in place of a token (RFC 9110 §11.4)': [
    ...[`token="${valid}"`, `token=${valid}`, 'realm="plants"'],
    ...[`${valid} realm="plants"`],
  ].map((parameters) => malformed(`Bearer ${parameters}`)),
  'nothing where there should be a token (RFC 6750 §2.1)': [
    '',
    ' ',
    'Bearer',
    'Bearer ',
    'Bearer \t ',
  ].map((value) => malformed(value)),
  'no scheme (RFC 9110 §11.4)': [
    ...[`Bearer:${valid}`, `Bearer: ${valid}`, `"Bearer" ${valid}`, `Bear\xe9r ${valid}`],
    ...[`token=${valid}`, ',', '\xff', `{"token":"${valid}"}`],
  ].map((value) => malformed(value)),
  'another scheme, so that there is no information for this one (RFC 6750 §3.1)': [
    ...['Basic YTpi', 'Basic', 'Negotiate', 'Digest username="a", realm="b", response="c"', '*'],
    ...[`DPoP ${valid}`, `OAuth ${valid}`],
    ...[`SCRAM-SHA-256 data=${valid}`, `AWS4-HMAC-SHA256 Credential=${valid}`],
    ...[`Bearers ${valid}`, `Bearer-Token ${valid}`, `Bearer${valid}`, valid],
    ...[`Bearer.${valid}`, 'x'.repeat(8_000), `${'x'.repeat(8_000)} ${valid}`],
  ].map(missing),
  'more than one line (RFC 9110 §5.3)': [
    malformed(`Bearer ${valid}`, `Bearer ${valid}`),
    malformed(`Bearer ${valid}`, `Bearer ${unknown}`),
    malformed(`Bearer ${unknown}`, `Bearer ${valid}`),
    malformed(`Bearer ${valid}`, 'Basic YTpi'),
    malformed('Basic YTpi', `Bearer ${valid}`),
    malformed('Basic YTpi', 'Basic YTpi'),
    malformed('', `Bearer ${valid}`),
    malformed(`Bearer ${valid}`, ''),
    malformed('', ''),
    malformed('Bearer', valid),
    malformed(`Bearer ${valid}`, `Bearer ${valid}`, `Bearer ${valid}`),
    refused('authorizationMalformed', right, `AUTHORIZATION: Bearer ${valid}`),
    refused('authorizationMalformed', right, 'X-Between: x', right),
  ],
  'lines that are none (RFC 9112 §5.1, §5.2)': [
    refused('httpMalformed', `Authorization : Bearer ${valid}`),
    refused('httpMalformed', `Authorization\t: Bearer ${valid}`),
    refused('httpMalformed', ` Authorization: Bearer ${valid}`),
    refused('httpMalformed', 'Authorization: Bearer', ` ${valid}`),
    refused('httpMalformed', right, ' x'),
    refused('httpMalformed', 'Authorization'),
    refused('httpMalformed', `: Bearer ${valid}`),
    refused('httpMalformed', `Authorization\xa0: Bearer ${valid}`),
  ],
  'a token of any length': [
    ...[1, 100, 511, 512].map((length) => invalid('a'.repeat(length))),
    ...[513, 514, 1_024, 8_192, 15_000].map((length) => malformed(`Bearer ${'a'.repeat(length)}`)),
    malformed(`Bearer ${longToken}=`),
    malformed(`Bearer a${'='.repeat(512)}`),
    malformed(`Bearer ${','.repeat(8_000)}`),
    malformed(`Bearer ${'a '.repeat(4_000)}a`),
    refused('headersTooLarge', `Authorization: Bearer ${'a'.repeat(20_000)}`),
    refused('headersTooLarge', `Authorization: Bearer ${'a'.repeat(100_000)}`),
    refused('headersTooLarge', `Authorization: ${'a'.repeat(100_000)}`),
  ],
  'a token in another place (RFC 6750 §2.2, §2.3)': [
    { lines: [], target: `/plants?access_token=${valid}`, problem: 'tokenMissing' },
    { lines: [], target: `/plants#access_token=${valid}`, problem: 'httpMalformed' },
    {
      lines: ['Content-Type: application/x-www-form-urlencoded'],
      body: () => `access_token=${valid}`,
      problem: 'tokenMissing',
    },
    {
      lines: [],
      body: (plant) => plant.replace('{', `{"access_token":"${valid}",`),
      problem: 'tokenMissing',
    },
    {
      lines: chunked,
      body: (plant) => `${plant.length.toString(16)}\r\n${plant}\r\n0\r\n${right}\r\n\r\n`,
      problem: 'tokenMissing',
    },
    ...[
      `Proxy-Authorization: Bearer ${valid}`,
      `X-Authorization: Bearer ${valid}`,
      `X-Api-Key: ${valid}`,
      `X-Access-Token: ${valid}`,
    ].map((line) => refused('tokenMissing', line)),
    ...[
      `Cookie: access_token=${valid}`,
      `WWW-Authenticate: Bearer ${valid}`,
      `X-Forwarded-Authorization: Bearer ${valid}`,
      `Bearer: ${valid}`,
    ].map((line) => refused('tokenMissing', line)),
    { lines: [wrong], target: `/plants?access_token=${valid}`, problem: 'tokenInvalid' },
    { lines: [right], target: `/plants?access_token=${unknown}`, problem: undefined },
    {
      lines: [right, `Proxy-Authorization: Bearer ${unknown}`, `Cookie: access_token=${unknown}`],
      problem: undefined,
    },
    {
      lines: [right],
      body: (plant) => plant.replace('{', `{"access_token":"${unknown}",`),
      problem: undefined,
    },
  ],
  'an unknown token, and a token that may not create': [
    ...[unknown, revoked, expired].map(invalid),
    refused('scopeInsufficient', `Authorization: Bearer ${operate}`),
    refused('scopeInsufficient', `Authorization: bearer   ${operate}`),
  ],
  'no authorization beside other faults, which come later': [
    ...(
      ['tokenMissing', 'tokenInvalid', 'authorizationMalformed', 'scopeInsufficient'] as const
    ).flatMap((problem) => {
      const line = {
        tokenMissing: 'X: x',
        tokenInvalid: wrong,
        authorizationMalformed: 'Authorization: Bearer',
        scopeInsufficient: `Authorization: Bearer ${operate}`,
      }[problem];
      return [
        refused(problem, line, 'Content-Type: text/plain'),
        refused(problem, line, 'Content-Encoding: gzip'),
        { lines: [line], body: () => '{', problem },
        { lines: [line], body: () => '', problem },
      ];
    }),
    { lines: [wrong], target: '/nowhere', problem: 'pathUnknown' },
    refused('expectationFailed', wrong, 'Expect: x'),
  ],
};

function requestOf(
  { lines, target = '/plants', body = (plant) => plant }: Case,
  id: bigint,
): Buffer {
  const bytes = body(`{"id":${id},"name":"Alder"}`);
  const has = (name: string) => lines.some((line) => line.startsWith(name));
  const usual = ['Host: localhost'];
  if (!has('Content-Type')) usual.push('Content-Type: application/json');
  if (!has('Transfer-Encoding')) usual.push(`Content-Length: ${bytes.length}`);
  return Buffer.from(
    `POST ${target} HTTP/1.1\r\n${[...usual, ...lines].join('\r\n')}\r\n\r\n${bytes}`,
    'latin1',
  );
}

/**
 * RFC 6750 §3: which challenge comes with which problem. There is an error in it only if there was
 * something to judge.
 */
const challenges: Partial<Record<ProblemName, string>> = {
  tokenMissing: 'Bearer',
  authorizationMalformed: 'Bearer error="invalid_request"',
  tokenInvalid: 'Bearer error="invalid_token"',
  scopeInsufficient: 'Bearer error="insufficient_scope"',
};

function assertAnswered({ lines, problem }: Case, reply: RawReply): void {
  const what = JSON.stringify(lines).slice(0, 200);
  assert.equal(reply.headers.get('www-authenticate'), problem && challenges[problem], what);
  if (problem === undefined) {
    assert.equal(reply.status, 200, what);
    assert.equal(reply.body, '{"name":"Alder"}');
    return;
  }
  assert.equal(reply.status, problems[problem].status, what);
  const message = assertRefusal(reply, problem);
  for (const secret of [valid, revoked, expired, operate, unknown, longToken])
    assert(!message.includes(secret), 'the message echoes a token');
}

test('every form of Authorization gets its code and its challenge, and only plants with a valid token are stored', async () => {
  for (const ofKind of Object.values(cases)) {
    const numbered = ofKind.map((one) => ({ one, id: nextId() }));
    const lanes = [0, 1, 2, 3].map((lane) => numbered.filter((_, index) => index % 4 === lane));
    await sendInLanes(
      owner,
      server.port,
      lanes,
      ({ one, id }) => requestOf(one, id),
      ({ one, id }, reply) => {
        assertAnswered(one, reply);
        if (reply.status === 200) created.push(id);
      },
    );
  }
  assertOnlyCreatedStored();
});

test('a client that waits for 100 Continue is refused before it has sent a body', async (t) => {
  for (const [line, problem] of [
    [wrong, 'tokenInvalid'],
    ['X: x', 'tokenMissing'],
    ['Authorization: Bearer', 'authorizationMalformed'],
  ] as const) {
    const connection = await connectRaw(t, server.port);
    connection.send(
      requestOf(
        {
          ...refused(problem, line, 'Expect: 100-continue', 'Transfer-Encoding: chunked'),
          body: () => '',
        },
        nextId(),
      ),
    );
    assertAnswered(refused(problem, line), await connection.reply());
  }
  assertOnlyCreatedStored();
});

let lastId = 0n;
function nextId(): bigint {
  lastId += 1n;
  return lastId;
}

const tries = scale({ short: 10_000, long: 100_000 });
/** Tokens of each kind that are tried over and over. */
const poolSize = 64;
/**
 * In standard deviations: what comes by chance twice in a million times, and what a leak must show
 * as, of the 9.8 that are possible.
 */
const chanceZ = 4.75;
const leakZ = 8;

/**
 * How much longer `authenticate` takes for the first tokens than for the second, in standard
 * deviations. All are tried in random order, so that whatever else the machine does hits both
 * kinds; each try is with a string of its own, so that none is in a cache because it was tried
 * before. What is compared are the medians of the tokens, since each has a time of its own: one
 * shares its place in the map with another, and one does not.
 */
async function timeZ(
  authenticate: (token: string) => unknown,
  pools: readonly [readonly string[], readonly string[]],
): Promise<number> {
  const tokens = pools.flat().map((token) => ({ token, timesMs: [] as number[] }));
  for (let done = 0; done < tries; done += 1_000) {
    const round = Array.from({ length: 1_000 }, () => {
      const { token, timesMs } = tokens[randomInt(tokens.length)] as (typeof tokens)[number];
      return { token: Buffer.from(token).toString('latin1'), timesMs };
    });
    for (const { token, timesMs } of round) {
      const startMs = performance.now();
      const found = authenticate(token);
      const ms = performance.now() - startMs;
      // On a machine that stands still for seconds, the tokens may have become too old to tell.
      if (!(found instanceof Outage)) timesMs.push(ms);
      assert(found === 'unknown' || found instanceof Outage, `${found}`);
    }
    // Otherwise the tokens could not be read again.
    await setImmediate();
  }
  const medians = tokens.map(({ timesMs }) => median(timesMs));
  return rankTestZ(medians.slice(0, poolSize), medians.slice(poolSize));
}

/** The start of the fixed token, all of it but the last characters, and then other ones. */
function nearlyRight(): string {
  return longToken.slice(0, -22) + randomBytes(16).toString('base64url');
}

function whollyWrong(): string {
  return randomBytes(limits.access.tokenCharsMax)
    .toString('base64url')
    .slice(0, limits.access.tokenCharsMax);
}

function equalToTheFirstDifference(a: string, b: string): boolean {
  for (let index = 0; index < a.length; index += 1)
    if (a.charCodeAt(index) !== b.charCodeAt(index)) return false;
  return a.length === b.length;
}

test('the time that a refusal takes does not tell how much of a token is right, nor whether there was one once', async (t) => {
  await using tokenStore = await openSqliteStore(await storePath(t), 5_000);
  const revokedTokens = Array.from({ length: poolSize }, generateToken);
  for (const token of revokedTokens) {
    const name = 'leaver';
    await tokenStore.createToken(
      { name, hash: hashToken(token), role: 'create', createdAtMs: 0, expiresAtMs: undefined },
      poolSize,
    );
    await tokenStore.revokeToken(name, 1);
  }
  await using access = await openOpaqueTokens({
    store: tokenStore,
    fixedToken: longToken,
    threads: 1,
    now: Date.now,
    onError: assert.fail,
    newTally: (id, name) => new Tally(id, name, []),
  });
  const authenticate = (token: string) => access.authenticate(token, '');

  const pool = (make: () => string) => Array.from({ length: poolSize }, make);
  const prefixes = [pool(nearlyRight), pool(whollyWrong)] as const;
  const states = [revokedTokens, pool(generateToken)] as const;
  const known = new Set(revokedTokens);
  // What the test is for, and the same with leaks of the usual kinds, which it must see.
  const z = {
    prefix: await timeZ(authenticate, prefixes),
    leakyPrefix: await timeZ(
      (token) => equalToTheFirstDifference(longToken, token) || authenticate(token),
      prefixes,
    ),
    state: await timeZ(authenticate, states),
    leakyState: await timeZ(
      (token) =>
        known.has(token) ? [hashToken(token), authenticate(token)][1] : authenticate(token),
      states,
    ),
  };

  const outcome = Object.entries(z)
    .map(([name, value]) => `${name} ${value.toFixed(1)}`)
    .join(', ');
  assert(Math.abs(z.prefix) < chanceZ && Math.abs(z.state) < chanceZ, outcome);
  assert(z.leakyPrefix > leakZ && z.leakyState > leakZ, outcome);
});

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] as number;
}

function assertOnlyCreatedStored(): void {
  const ids = created.toSorted((a, b) => (a < b ? -1 : 1));
  assert.deepEqual(
    storedPlants(store),
    ids.map((id) => [id, 'Alder', null]),
  );
}
