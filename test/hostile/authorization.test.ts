import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { type ProblemName, problems } from '../../src/contract/problems.ts';
import { limits } from '../../src/limits.ts';
import { generateToken } from '../../src/tokens/opaque-tokens.ts';
import { inReverse, oneThread, startServer, storePath } from '../helpers/program.ts';
import { assertRefusal, type RawReply } from '../helpers/raw.ts';
import { alterStore, storedPlants } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';
import { sendInLanes } from './lanes.ts';

/** The characters of a b64token (RFC 6750 §2.1), but for the = that may end it. */
const b64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/';
/** As long as a token may be, and of every character that may be in one. */
const longToken = `${b64}${'a'.repeat(limits.access.tokenCharsMax - b64.length - 2)}==`;

/** One server for the whole file. At the end its store must hold exactly these plants. */
const created: bigint[] = [];
let lastId = 0n;
const owner = inReverse({ after });
const store = await storePath(owner);
const valid = await storedToken(store, 'valid');
const revoked = await storedToken(store, 'revoked');
const expired = await storedToken(store, 'expired', { validMs: 1 });
const operate = await storedToken(store, 'operate', { role: 'operate' });
const unknown = generateToken();
alterStore(store, "UPDATE tokens SET revoked_at = created_at WHERE name = 'revoked'");
const server = await startServer(owner, store, oneThread, { PLANT_STORE_TOKEN: longToken });

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
    ...[missing(`Basic YTpi, Bearer ${valid}`), missing(`Basic YTpi Bearer ${valid}`)],
  ],
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
    ...[`Bearers ${valid}`, `Bearer-Token ${valid}`, `Bearer${valid}`, valid],
    ...[`Bearer.${valid}`, 'x'.repeat(8_000), `${'x'.repeat(8_000)} ${valid}`],
  ].map(missing),
  'more than one line (RFC 9110 §5.3)': [
    malformed(`Bearer ${valid}`, `Bearer ${valid}`),
    malformed(`Bearer ${valid}`, `Bearer ${unknown}`),
    refused('authorizationMalformed', right, `AUTHORIZATION: Bearer ${valid}`),
    ...['Bearer x', 'Basic YTpi', ''].flatMap((other) => [
      refused('authorizationMalformed', right, `aUTHORIZATION: ${other}`),
      refused(
        'authorizationMalformed',
        `aUTHORIZATION: ${other}`,
        ...Array(50).fill('a: b'),
        right,
      ),
    ]),
  ],
  'lines that are none (RFC 9112 §5.1, §5.2)': [
    refused('httpMalformed', `Authorization : Bearer ${valid}`),
    refused('httpMalformed', ` Authorization: Bearer ${valid}`),
    refused('httpMalformed', 'Authorization: Bearer', ` ${valid}`),
  ],
  'a token of any length': [
    ...[1, 100, 511, 512].map((length) => invalid('a'.repeat(length))),
    ...[513, 514, 1_024, 8_192, 15_000].map((length) => malformed(`Bearer ${'a'.repeat(length)}`)),
    refused('headersTooLarge', `Authorization: ${'a'.repeat(100_000)}`),
  ],
  'a token in another place (RFC 6750 §2.2, §2.3)': [
    { lines: [], target: `/plants?access_token=${valid}`, problem: 'tokenMissing' },
    { lines: [], target: `/plants#access_token=${valid}`, problem: 'httpMalformed' },
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
    { lines: [right], target: `/plants?access_token=${unknown}`, problem: undefined },
  ],
  'an unknown token, and a token that may not create': [
    ...[unknown, revoked, expired].map(invalid),
    refused('scopeInsufficient', `Authorization: Bearer ${operate}`),
  ],
  'no authorization beside other faults, which come later': [
    ...(
      [
        ['tokenMissing', 'X: x'],
        ['tokenInvalid', wrong],
        ['authorizationMalformed', 'Authorization: Bearer'],
        ['scopeInsufficient', `Authorization: Bearer ${operate}`],
      ] as const
    ).flatMap(([problem, line]) => [
      refused(problem, line, 'Content-Type: text/plain'),
      refused(problem, line, 'Content-Encoding: gzip'),
      { lines: [line], body: () => '{', problem },
      { lines: [line], body: () => '', problem },
    ]),
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

function assertAnswered({ lines, problem }: Case, reply: RawReply): void {
  const what = JSON.stringify(lines).slice(0, 200);
  // RFC 6750 §3: the catalogue says which challenge comes with which problem.
  const challenge = problem && new Map(Object.entries(problems[problem].headers));
  assert.equal(reply.headers.get('www-authenticate'), challenge?.get('WWW-Authenticate'), what);
  if (problem === undefined) {
    assert.equal(reply.status, 200, what);
    assert.equal(reply.body, '{"name":"Alder"}');
    return;
  }
  const message = assertRefusal(reply, problem);
  for (const secret of [valid, revoked, expired, operate, unknown, longToken])
    assert(!message.includes(secret), 'the message echoes a token');
}

test('every form of Authorization gets its code and its challenge, and only plants with a valid token are stored', async () => {
  for (const ofKind of Object.values(cases)) {
    const numbered = ofKind.map((one) => ({ one, id: (lastId += 1n) }));
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
  const ids = created.toSorted((a, b) => (a < b ? -1 : 1));
  const rows = ids.map((id) => [id, 'Alder', null]);
  assert.deepEqual(storedPlants(store), rows);
});
