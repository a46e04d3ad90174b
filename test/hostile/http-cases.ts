import type { ProblemName } from '../../src/contract/problems.ts';
import { token } from '../helpers/program.ts';

/**
 * What comes back for one request: the plant with that number created, 100 Continue, the
 * description, or a refusal.
 */
export type Answer =
  | number
  | 'continue'
  | 'described'
  | ProblemName
  | { readonly head: ProblemName };

/** What is sent on a fresh connection, and what has to come of it. */
export interface HttpCase {
  readonly what: string;
  /** What it stands on. */
  readonly rfc: string;
  /** As latin1: one character is one byte. Every text that `plant` makes has `size` bytes. */
  readonly bytes: (plant: (n: number) => string) => string;
  /** Exactly these, in this order. */
  readonly answers: readonly Answer[];
  /**
   * `open`: a create that follows in the same bytes is served. `closed`: it is not, and the server
   * closes the connection. `cut`: the client closes its half after the bytes, and nothing follows.
   */
  readonly after: 'open' | 'closed' | 'cut';
}

/** The bytes of one plant, in decimal and as a chunk size. */
export const size = 28;
const hex = '1c';

export const authorization = `Authorization: Bearer ${token}\r\n`;
const json = 'Content-Type: application/json\r\n';
const usual = `Host: a\r\n${authorization}${json}`;
const line = 'POST /plants HTTP/1.1\r\n';
const length = `Content-Length: ${size}\r\n`;
const chunked = 'Transfer-Encoding: chunked\r\n';
const last = '0\r\n\r\n';

/** A create that is well-formed. */
export const create = (body: string) => `${line}${usual}${length}\r\n${body}`;
const withFields = (fields: string) => (body: string) =>
  `${line}${fields}${usual}${length}\r\n${body}`;
const withFraming = (framing: string) => (body: string) => `${line}${usual}${framing}\r\n${body}`;
const withLine = (requestLine: string) => (body: string) =>
  `${requestLine}${usual}${length}\r\n${body}`;
const withTarget = (target: string) => withLine(`POST ${target} HTTP/1.1\r\n`);
const withHost = (host: string) => (body: string) =>
  `${line}Host:${host}\r\n${authorization}${json}${length}\r\n${body}`;
const inChunks = (coded: string) => `${line}${usual}${chunked}\r\n${coded}`;
/** A create with its body in one chunk, and what comes after that. */
export const oneChunk = (body: string, end = last) => inChunks(`${hex}\r\n${body}\r\n${end}`);
const withSize = (chunkSize: string) => (body: string) =>
  inChunks(`${chunkSize}\r\n${body}\r\n${last}`);
const get = (fields = '') => `GET /openapi.json HTTP/1.1\r\nHost: a\r\n${fields}\r\n`;

type OfOne = (body: string) => string;
const ofOne =
  (bytes: OfOne): HttpCase['bytes'] =>
  (plant) =>
    bytes(plant(1));

function accepted(rfc: string, what: string, bytes: OfOne): HttpCase {
  return { what, rfc, bytes: ofOne(bytes), answers: [1], after: 'open' };
}

function refused(
  rfc: string,
  what: string,
  bytes: OfOne,
  problem: ProblemName = 'httpMalformed',
): HttpCase {
  return { what, rfc, bytes: ofOne(bytes), answers: [problem], after: 'closed' };
}

/** Refused, though it is well-formed; so the next request is served. */
function declined(rfc: string, what: string, problem: ProblemName, bytes: OfOne): HttpCase {
  return { what, rfc, bytes: ofOne(bytes), answers: [problem], after: 'open' };
}

function cut(
  rfc: string,
  what: string,
  bytes: OfOne,
  answers: readonly Answer[] = ['httpMalformed'],
): HttpCase {
  return { what, rfc, bytes: ofOne(bytes), answers, after: 'cut' };
}

const shown = (text: string) => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
const field = (name: string, values: readonly string[], make: (value: string) => HttpCase) =>
  values.map((value) => ({ ...make(value), what: `${name}: ${shown(value)}` }));

const contentLength: readonly HttpCase[] = [
  refused('RFC 9112 §6.3', 'Content-Length before Transfer-Encoding', (body) =>
    withFraming(`${length}${chunked}`)(`${hex}\r\n${body}\r\n${last}`),
  ),
  refused('RFC 9112 §6.3', 'Content-Length after Transfer-Encoding', (body) =>
    withFraming(`${chunked}${length}`)(`${hex}\r\n${body}\r\n${last}`),
  ),
  refused('RFC 9112 §6.3', 'Content-Length 0 after Transfer-Encoding', (body) =>
    withFraming(`${chunked}Content-Length: 0\r\n`)(`${hex}\r\n${body}\r\n${last}`),
  ),
  refused(
    'RFC 9112 §6.3',
    'Content-Length before an unknown Transfer-Encoding',
    withFraming(`${length}Transfer-Encoding: x\r\n`),
  ),
  refused('RFC 9112 §6.3', 'two equal Content-Lengths', withFraming(`${length}${length}`)),
  refused(
    'RFC 9112 §6.3',
    'two different Content-Lengths',
    withFraming(`${length}Content-Length: 5\r\n`),
  ),
  refused(
    'RFC 9112 §6.3',
    'two different Content-Lengths, one of them far away',
    withFraming(`${length}${'a: b\r\n'.repeat(50)}content-length: 5\r\n`),
  ),
  ...field(
    'Content-Length',
    [
      '28, 28',
      '28,28',
      '28, 5',
      '28;',
      '+28',
      '-28',
      '-0',
      '0x1c',
      '1c',
      '2 8',
      '28 28',
      '2_8',
      '28.0',
      '2.8e1',
      '"28"',
      '',
      ' ',
      ',',
    ],
    (value) => refused('RFC 9110 §8.6', '', withFraming(`Content-Length: ${value}\r\n`)),
  ),
  ...field(
    'Content-Length',
    ['28\u000b', '\u000b28', '28\u0000', '2\u00b28', '\u00a028', '28\r', '28\r\n 0', '28\r\n\t'],
    (value) => refused('RFC 9110 §8.6', '', withFraming(`Content-Length: ${value}\r\n`)),
  ),
  ...field(
    'Content-Length',
    ['18446744073709551616', '18446744073709551644', '99999999999999999999', '9'.repeat(400)],
    (value) => refused('RFC 9110 §8.6', '', withFraming(`Content-Length: ${value}\r\n`)),
  ),
  ...field(
    'Content-Length',
    [
      '1048577',
      '4294967324',
      '9007199254740993',
      '9223372036854775807',
      '9223372036854775808',
      '18446744073709551615',
    ],
    (value) =>
      refused('RFC 9110 §8.6', '', withFraming(`Content-Length: ${value}\r\n`), 'bodyTooLarge'),
  ),
  ...field(
    'Content-Length',
    ['28 ', '28\t', '  28', '\t28', '0028', `${'0'.repeat(100)}28`],
    (value) => accepted('RFC 9110 §8.6', '', withFraming(`Content-Length: ${value}\r\n`)),
  ),
  accepted(
    'RFC 9110 §5.1',
    'Content-Length in another case',
    withFraming(`cOnTeNt-LeNgTh: ${size}\r\n`),
  ),
  declined('RFC 9112 §6.3', 'no length, so there is no body', 'bodyMalformed', () =>
    withFraming('')(''),
  ),
  declined('RFC 9112 §6.3', 'Content-Length: 0', 'bodyMalformed', () =>
    withFraming('Content-Length: 0\r\n')(''),
  ),
  {
    what: 'a body longer than its Content-Length',
    rfc: 'RFC 9112 §6.3',
    bytes: ofOne(withFraming('Content-Length: 27\r\n')),
    answers: ['bodyMalformed', 'httpMalformed'],
    after: 'closed',
  },
  {
    what: 'a body shorter than its Content-Length',
    rfc: 'RFC 9112 §6.3',
    bytes: ofOne(withFraming('Content-Length: 33\r\n')),
    answers: ['bodyMalformed', 'httpMalformed'],
    after: 'closed',
  },
];

const transferEncoding: readonly HttpCase[] = [
  ...field(
    'Transfer-Encoding',
    [
      'chunked',
      'Chunked',
      'CHUNKED',
      ' chunked',
      'chunked ',
      'chunked\t',
      '\tchunked',
      '  chunked  ',
    ],
    (value) =>
      accepted('RFC 9112 §7', '', (body) =>
        withFraming(`Transfer-Encoding:${value}\r\n`)(`${hex}\r\n${body}\r\n${last}`),
      ),
  ),
  ...field(
    'Transfer-Encoding',
    [
      'chunked, chunked',
      'gzip, chunked',
      'chunked, gzip',
      'gzip',
      'identity',
      'identity, chunked',
      'chunked, identity',
      'xchunked',
      'chunkedx',
      'chunked;q=1',
      'chunked; a=b',
      '"chunked"',
      "'chunked'",
      'chunk',
      'chunked chunked',
      'x chunked',
      'chunked x',
      '',
      ' ',
      ',',
      'chunked,',
      ',chunked',
      ' , chunked',
      'chunked, ',
      'cow',
      'trailers',
      '\u000bchunked',
      '\u000cchunked',
      'chunked\u000b',
      '\u0000chunked',
      'chunked\u0000',
      '\u00a0chunked',
      'chunked\r',
      '\r\n chunked',
      'chunked\r\n ',
      'chun\r\n ked',
      'chun\u212aed'.replace('\u212a', '\u00ea'),
      'chunked\u007f',
      'chunked#',
      'chunked\\',
    ],
    (value) =>
      refused('RFC 9112 §6.1', '', (body) =>
        withFraming(`Transfer-Encoding:${value}\r\n`)(`${hex}\r\n${body}\r\n${last}`),
      ),
  ),
  ...[
    ['chunked', 'chunked'],
    ['chunked', 'identity'],
    ['identity', 'chunked'],
    ['gzip', 'chunked'],
    ['chunked', 'gzip'],
    ['', 'chunked'],
    ['chunked', ''],
  ].map(([first, second]) =>
    refused('RFC 9112 §6.1', `Transfer-Encoding: ${first} and then ${second}`, (body) =>
      withFraming(
        `Transfer-Encoding: ${first}\r\n${'a: b\r\n'.repeat(40)}transfer-encoding: ${second}\r\n`,
      )(`${hex}\r\n${body}\r\n${last}`),
    ),
  ),
  ...['chunked', 'identity', 'gzip, chunked'].map((coding) =>
    refused('RFC 9112 §6.1', `Transfer-Encoding: ${coding} in HTTP/1.0`, (body) =>
      withLine('POST /plants HTTP/1.0\r\n')('')
        .replace(length, `Connection: keep-alive\r\nTransfer-Encoding: ${coding}\r\n`)
        .concat(`${hex}\r\n${body}\r\n${last}`),
    ),
  ),
  refused('RFC 9112 §6.1', 'Transfer-Encoding and Content-Length in HTTP/1.0', (body) =>
    withLine('POST /plants HTTP/1.0\r\n')('')
      .replace(length, `${chunked}${length}`)
      .concat(`${hex}\r\n${body}\r\n${last}`),
  ),
  refused('RFC 9112 §5.1', 'a space between Transfer-Encoding and its colon', (body) =>
    withFraming('Transfer-Encoding : chunked\r\n')(`${hex}\r\n${body}\r\n${last}`),
  ),
  {
    what: 'Transfer_Encoding is another field',
    rfc: 'RFC 9110 §5.1',
    bytes: ofOne((body) =>
      withFraming('Transfer_Encoding: chunked\r\n')(`${hex}\r\n${body}\r\n${last}`),
    ),
    answers: ['bodyMalformed', 'httpMalformed'],
    after: 'closed',
  },
  {
    what: 'a GET in chunks',
    rfc: 'RFC 9112 §6',
    bytes: () => `${get(chunked)}3\r\nabc\r\n${last}`,
    answers: ['described'],
    after: 'open',
  },
];

const chunks: readonly HttpCase[] = [
  accepted('RFC 9112 §7.1', 'one chunk', (body) => oneChunk(body)),
  accepted('RFC 9112 §7.1', 'a chunk for every byte', (body) =>
    inChunks(`${[...body].map((byte) => `1\r\n${byte}\r\n`).join('')}${last}`),
  ),
  ...field('chunk size', ['1C', '001c', `${'0'.repeat(30)}1c`], (value) =>
    accepted('RFC 9112 §7.1', '', withSize(value)),
  ),
  accepted('RFC 9112 §7.1', 'several zeros as the last chunk', (body) =>
    oneChunk(body, '000\r\n\r\n'),
  ),
  ...field(
    'chunk size',
    [
      '',
      '0x1c',
      '1c ',
      '1c\t',
      ' 1c',
      '\t1c',
      '+1c',
      '-1c',
      '-1',
      '1g',
      '1c.',
      '1_c',
      '1c,',
      '"1c"',
      '1c\u0000',
      '\u00001c',
      '1c\r',
      '1c\u000b',
      '1\r\nc',
      'FFFFFFFFFFFFFFFFF',
      '10000000000000000',
      '1000000000000001c',
      'zz',
      'x1c',
      '0x',
      '\u00b9',
      '1c1c1c1c1c1c1c1c1c1c1c1c',
    ],
    (value) => refused('RFC 9112 §7.1', '', withSize(value)),
  ),
  ...field(
    'chunk size',
    ['FFFFFFFFFFFFFFFF', '7FFFFFFFFFFFFFFF', '8000000000000000', '10000001c'],
    (value) => cut('RFC 9112 §7.1', '', withSize(value)),
  ),
  refused('RFC 9112 §7.1', 'a chunk size that is negative after a whole plant', (body) =>
    inChunks(`${hex}\r\n${body}\r\n-1\r\n`),
  ),
  ...field(
    'chunk extension',
    [
      ';a',
      ';a=b',
      ';a=b;c',
      ';a;b=c',
      ';a="b"',
      ';a="b c;d=\\"e\\\\"',
      ';a=""',
      ';a="\t"',
      ' ;a=b',
      '; a=b',
      '\t;\ta = "b" ; c',
    ],
    (value) => accepted('RFC 9112 §7.1.1', '', withSize(`${hex}${value}`)),
  ),
  ...field(
    'chunk extension',
    [
      ';',
      ';=',
      ';=b',
      ';a="b',
      ';a="b\\',
      ';a="b"c',
      ';a=b"',
      ';a b',
      ';a="\u0001"',
      ';a=\u0001',
      ';a=\u0000',
      ';a\u0000',
      ';a="\u0000"',
      ';a=\u007f',
      ';a=b\rc',
      ';a\rb',
      ';a="b\rc"',
      ';a=b\nc',
      ';a\nb',
      ';a="b\nc"',
      ';a="\r\n"',
      ';a=b,c',
      ';a=@',
      ';a(',
      ',a=b',
      ':a=b',
      ' a=b',
      ';a=b\r\r',
    ],
    (value) => refused('RFC 9112 §7.1.1', '', withSize(`${hex}${value}`)),
  ),
  refused(
    'RFC 9112 §7.1.1',
    'a chunk extension of 20 KB',
    withSize(`${hex};a=${'b'.repeat(20_000)}`),
  ),
  refused('RFC 9112 §7.1.1', 'a chunk extension of 20 KB on the last chunk', (body) =>
    oneChunk(body, `0;a=${'b'.repeat(20_000)}\r\n\r\n`),
  ),
  accepted(
    'RFC 9112 §7.1.1',
    'a chunk extension of 1 KB',
    withSize(`${hex};a=${'b'.repeat(1_000)}`),
  ),
  accepted('RFC 9112 §7.1.1', 'a chunk extension on the last chunk', (body) =>
    oneChunk(body, '0;a=b\r\n\r\n'),
  ),
  ...['1b', '1d', '1', '20'].map((wrong) =>
    refused('RFC 9112 §7.1', `a plant in a chunk of ${wrong}`, withSize(wrong)),
  ),
  refused('RFC 9112 §7.1', 'no line end after the data of a chunk', (body) =>
    inChunks(`${hex}\r\n${body}${last}`),
  ),
  refused('RFC 9112 §7.1', 'two line ends after the data of a chunk', (body) =>
    inChunks(`${hex}\r\n${body}\r\n\r\n${last}`),
  ),
  refused('RFC 9112 §7.1', 'a line feed after the chunk size', (body) =>
    inChunks(`${hex}\n${body}\r\n${last}`),
  ),
  refused('RFC 9112 §7.1', 'a line feed after an extension', (body) =>
    inChunks(`${hex};a=b\n${body}\r\n${last}`),
  ),
  refused('RFC 9112 §7.1', 'a line feed after the data', (body) =>
    inChunks(`${hex}\r\n${body}\n${last}`),
  ),
  refused('RFC 9112 §7.1', 'a carriage return after the data', (body) =>
    inChunks(`${hex}\r\n${body}\r${last}`),
  ),
  refused('RFC 9112 §7.1', 'two other bytes after the data', (body) =>
    inChunks(`${hex}\r\n${body}xx${last}`),
  ),
  refused('RFC 9112 §7.1', 'a line feed after the last chunk', (body) => oneChunk(body, '0\n\r\n')),
  refused('RFC 9112 §7.1', 'a line feed at the end of the body', (body) =>
    oneChunk(body, '0\r\n\n'),
  ),
  refused('RFC 9112 §7.1', 'a carriage return at the end of the body', (body) =>
    oneChunk(body, '0\r\n\r'),
  ),
  cut('RFC 9112 §8', 'no last chunk, and the end', (body) => inChunks(`${hex}\r\n${body}\r\n`)),
  cut('RFC 9112 §8', 'half of the last chunk, and the end', (body) =>
    inChunks(`${hex}\r\n${body}\r\n0`),
  ),
  cut('RFC 9112 §8', 'no line end after the last chunk, and the end', (body) =>
    oneChunk(body, '0\r\n'),
  ),
  cut('RFC 9112 §8', 'half a line end after the last chunk, and the end', (body) =>
    oneChunk(body, '0\r\n\r'),
  ),
  cut('RFC 9112 §8', 'half a trailer, and the end', (body) => oneChunk(body, '0\r\nA: b')),
];

const trailers: readonly HttpCase[] = [
  ...field('trailer', ['A: b', 'A: b\r\nC: d', 'A:', 'A: \u00e4'], (value) =>
    accepted('RFC 9112 §7.1.2', '', (body) => oneChunk(body, `0\r\n${value}\r\n\r\n`)),
  ),
  ...field(
    'trailer',
    [
      'Authorization: Bearer wrong',
      'Host: b',
      'Content-Type: text/plain',
      'Content-Encoding: gzip',
      'Expect: x',
      'Trailer: a',
      'Cookie: a',
    ],
    (value) => accepted('RFC 9110 §6.5.1', '', (body) => oneChunk(body, `0\r\n${value}\r\n\r\n`)),
  ),
  ...['Authorization', 'Content-Type'].map((name) =>
    declined(
      'RFC 9110 §6.5.1',
      `${name} in the trailers only`,
      name === 'Authorization' ? 'tokenMissing' : 'mediaTypeUnsupported',
      (body) => {
        const whole = name === 'Authorization' ? authorization : json;
        return oneChunk(body, `0\r\n${whole}\r\n`).replace(whole, '');
      },
    ),
  ),
  refused('RFC 9110 §6.5.1', 'Host in the trailers only', (body) =>
    oneChunk(body, '0\r\nHost: a\r\n\r\n').replace('Host: a\r\n', ''),
  ),
  ...field(
    'trailer',
    [
      'this is no field',
      ': b',
      'A : b',
      'A\tb: c',
      ' A: b',
      'A: b\r\n c',
      'A: \u0001',
      'A: \u0000',
      'A: \u007f',
      'A\u0000: b',
      'A: b\rc',
      'A: b\nC: d',
      '\u00c4: b',
      'A',
      'A: b\r',
      'Content-Length: 5',
      'Transfer-Encoding: gzip',
      'Transfer-Encoding: chunked',
    ],
    (value) => refused('RFC 9112 §5', '', (body) => oneChunk(body, `0\r\n${value}\r\n\r\n`)),
  ),
  ...field(
    'trailer',
    ['Connection: upgrade\r\nUpgrade: websocket', 'Connection: keep-alive'],
    (value) => accepted('RFC 9110 §6.5.1', '', (body) => oneChunk(body, `0\r\n${value}\r\n\r\n`)),
  ),
  refused(
    'RFC 6585 §5',
    'a trailer of 20 KB',
    (body) => oneChunk(body, `0\r\nA: ${'b'.repeat(20_000)}\r\n\r\n`),
    'headersTooLarge',
  ),
  refused(
    'RFC 6585 §5',
    'trailers of 20 KB together',
    (body) => oneChunk(body, `0\r\n${`A: ${'b'.repeat(100)}\r\n`.repeat(200)}\r\n`),
    'headersTooLarge',
  ),
  accepted('RFC 9112 §7.1.2', '900 trailers', (body) =>
    oneChunk(body, `0\r\n${'a: b\r\n'.repeat(900)}\r\n`),
  ),
  refused(
    'RFC 6585 §5',
    '3000 tiny trailers',
    (body) => oneChunk(body, `0\r\n${'a: b\r\n'.repeat(3_000)}\r\n`),
    'headersTooLarge',
  ),
];

const fields: readonly HttpCase[] = [
  refused('RFC 9112 §5.2', 'a folded field', withFields('A: b\r\n c\r\n')),
  refused('RFC 9112 §5.2', 'a field folded with a tab', withFields('A: b\r\n\tc\r\n')),
  refused('RFC 9112 §5.2', 'a folded empty field', withFields('A:\r\n \r\n')),
  refused('RFC 9112 §5.2', 'a folded Authorization', (body) =>
    create(body).replace('Bearer ', 'Bearer\r\n '),
  ),
  refused('RFC 9112 §5.1', 'a space before the colon', withFields('A : b\r\n')),
  refused('RFC 9112 §5.1', 'a tab before the colon', withFields('A\t: b\r\n')),
  refused('RFC 9112 §5.1', 'an empty field name', withFields(': b\r\n')),
  refused('RFC 9112 §5.1', 'a line without a colon', withFields('A\r\n')),
  refused('RFC 9112 §5.1', 'a line of spaces', withFields('A: b\r\n \r\n')),
  refused('RFC 9112 §2.2', 'a space before the first field', withFields(' A: b\r\n')),
  refused('RFC 9112 §2.2', 'a tab before the first field', withFields('\tA: b\r\n')),
  refused('RFC 9112 §2.2', 'a folded first line', withFields(' \r\n')),
  ...[...'"(),/;<=>?@[\\]{} \u0000\u0001\u000b\u001f\u007f\u0080\u00e4\u00ff'].map((byte) =>
    refused(
      'RFC 9110 §5.6.2',
      `the field name ${shown(`A${byte}B`)}`,
      withFields(`A${byte}B: c\r\n`),
    ),
  ),
  accepted(
    'RFC 9110 §5.6.2',
    'every character of a token in a field name',
    withFields("!#$%&'*+-.^_`|~09azAZ: b\r\n"),
  ),
  ...[...'\u0000\u0001\u0007\u0008\u000b\u000c\u001b\u001f\u007f'].flatMap((byte) => [
    refused(
      'RFC 9110 §5.5',
      `the field value ${shown(`a${byte}b`)}`,
      withFields(`A: a${byte}b\r\n`),
    ),
    refused('RFC 9110 §5.5', `the field value ${shown(`${byte}a`)}`, withFields(`A: ${byte}a\r\n`)),
    refused(
      'RFC 9110 §5.5',
      `the Connection value ${shown(`close${byte}`)}`,
      withFields(`Connection: close${byte}\r\n`),
    ),
  ]),
  refused('RFC 9110 §5.5', 'NUL in Authorization', (body) =>
    create(body).replace('Bearer ', 'Bearer \u0000'),
  ),
  accepted(
    'RFC 9110 §5.5',
    'every byte from 0x80 to 0xff in a field value',
    withFields(`A: ${String.fromCharCode(...Array.from({ length: 128 }, (_, n) => n + 128))}\r\n`),
  ),
  accepted('RFC 9110 §5.5', 'tabs and spaces in a field value', withFields('A: \t b \t c \t\r\n')),
  accepted('RFC 9112 §5.1', 'no space after the colon', withFields('A:b\r\n')),
  accepted('RFC 9110 §5.5', 'an empty field value', withFields('A:\r\nB: \r\nC:\t\r\n')),
  accepted('RFC 9110 §5.6.3', 'spaces and tabs around the token', (body) =>
    create(body).replace('Bearer ', ' \t Bearer ').replace(`${token}\r\n`, `${token} \t \r\n`),
  ),
  refused('RFC 9112 §2.2', 'a bare CR in a field value', withFields('A: b\rc\r\n')),
  refused('RFC 9112 §2.2', 'a bare CR before the line end', withFields('A: b\r\r\n')),
  refused('RFC 9112 §2.2', 'a bare CR in a field name', withFields('A\rB: c\r\n')),
  refused(
    'RFC 9112 §2.2',
    'a bare CR that hides a field',
    withFields('A: b\rContent-Length: 5\r\n'),
  ),
  refused(
    'RFC 9112 §2.2',
    'a bare LF that hides a field',
    withFields('A: b\nContent-Length: 5\r\n'),
  ),
  refused('RFC 9112 §2.2', 'a bare LF after the request line', (body) =>
    create(body).replace('HTTP/1.1\r\n', 'HTTP/1.1\n'),
  ),
  refused('RFC 9112 §2.2', 'a bare LF after a field', withFields('A: b\n')),
  refused('RFC 9112 §2.2', 'a bare LF after an empty field', withFields('A:\n')),
  refused('RFC 9112 §2.2', 'a bare LF after Content-Length', (body) =>
    create(body).replace(length, `Content-Length: ${size}\n`),
  ),
  refused('RFC 9112 §2.2', 'a bare LF after Connection', withFields('Connection: close\n')),
  refused('RFC 9112 §2.2', 'a bare LF after Transfer-Encoding', (body) =>
    oneChunk(body).replace(chunked, 'Transfer-Encoding: chunked\n'),
  ),
  refused('RFC 9112 §2.2', 'a bare LF at the end of the fields', (body) =>
    create(body).replace('\r\n\r\n', '\r\n\n'),
  ),
  refused('RFC 9112 §2.2', 'two bare LF at the end of the fields', (body) =>
    create(body).replace('\r\n\r\n', '\n\n'),
  ),
  refused('RFC 9112 §2.2', 'a bare CR at the end of the fields', (body) =>
    create(body).replace('\r\n\r\n', '\r\n\r'),
  ),
  refused('RFC 9112 §2.2', 'bare LF everywhere', (body) => create(body).replaceAll('\r\n', '\n')),
];

const requestLine: readonly HttpCase[] = [
  accepted('RFC 9112 §2.2', 'an empty line before the request', (body) => `\r\n${create(body)}`),
  accepted(
    'RFC 9112 §2.2',
    'three empty lines before the request',
    (body) => `\r\n\r\n\r\n${create(body)}`,
  ),
  accepted(
    'RFC 9112 §2.2',
    '512 empty lines before the request',
    (body) => `${'\r\n'.repeat(512)}${create(body)}`,
  ),
  refused(
    'RFC 9112 §2.2',
    '513 empty lines before the request',
    (body) => `${'\r\n'.repeat(513)}${create(body)}`,
  ),
  {
    what: '512 empty lines before each of two requests',
    rfc: 'RFC 9112 §2.2',
    bytes: (plant) => [1, 2].map((n) => `${'\r\n'.repeat(512)}${create(plant(n))}`).join(''),
    answers: [1, 2],
    after: 'open',
  },
  {
    what: 'an empty line between two requests',
    rfc: 'RFC 9112 §2.2',
    bytes: (plant) => `${create(plant(1))}\r\n${create(plant(2))}`,
    answers: [1, 2],
    after: 'open',
  },
  refused('RFC 9112 §2.2', 'bare line feeds before the request', (body) => `\n\n${create(body)}`),
  refused(
    'RFC 9112 §2.2',
    'bare carriage returns before the request',
    (body) => `\r\r${create(body)}`,
  ),
  refused('RFC 9112 §2.3', 'RTSP/1.0', (body) =>
    v10('Connection: keep-alive\r\n', body).replace('HTTP/', 'RTSP/'),
  ),
  refused('RFC 9112 §3', 'a space before the request', (body) => ` ${create(body)}`),
  refused('RFC 9112 §3', 'a tab before the request', (body) => `\t${create(body)}`),
  refused('RFC 9112 §3', 'NUL before the request', (body) => `\u0000${create(body)}`),
  refused(
    'RFC 9112 §3',
    'a byte order mark before the request',
    (body) => `\u00ef\u00bb\u00bf${create(body)}`,
  ),
  ...field(
    'request line',
    [
      'POST\t/plants HTTP/1.1',
      'POST /plants\tHTTP/1.1',
      'POST /plants HTTP/1.1\t',
      'POST /plants HTTP/1.1 ',
      'POST /plants HTTP /1.1',
    ],
    (value) => refused('RFC 9112 §3', '', withLine(`${value}\r\n`)),
  ),
  ...field('request line', ['POST  /plants HTTP/1.1', 'POST /plants  HTTP/1.1'], (value) =>
    accepted('RFC 9112 §3, which lets it be', '', withLine(`${value}\r\n`)),
  ),
  ...field(
    'request line',
    [
      'POST /plants http/1.1',
      'POST /plants Http/1.1',
      'POST /plants HTTP/1.10',
      'POST /plants HTTP/01.1',
      'POST /plants HTTP/1.01',
      'POST /plants HTTP/11',
      'POST /plants HTTP/1',
      'POST /plants HTTP/1.',
      'POST /plants HTTP/.1',
      'POST /plants HTTP/',
      'POST /plants HTTPS/1.1',
      'POST /plants HTTP/1,1',
      'POST /plants HTTP/+1.1',
      'POST /plants HTTP/1.1;a',
      'POST /plants HTTP/1.x',
      'POST /plants HTTP/x.1',
      'POST /plants HTP/1.1',
      'POST /plants XHTTP/1.1',
      'POST /plants HTTP/1.1\u0000',
      'POST /plants HTTP/\u00b9.1',
      'POST /plants HTTP/1.1\r',
      'POST /plants\rHTTP/1.1',
    ],
    (value) => refused('RFC 9112 §2.3', '', withLine(`${value}\r\n`)),
  ),
  ...field(
    'version',
    ['HTTP/0.9', 'HTTP/2.0', 'HTTP/1.2', 'HTTP/3.0', 'HTTP/0.0', 'HTTP/1.9', 'HTTP/9.9'],
    (value) =>
      refused('RFC 9110 §15.6.6', '', withLine(`POST /plants ${value}\r\n`), 'versionUnsupported'),
  ),
  refused('RFC 9112 §3', 'no version', withLine('POST /plants\r\n'), 'versionUnsupported'),
  refused('RFC 9112 §3', 'no version, but a space', withLine('POST /plants \r\n')),
  refused('RFC 9112 §3', 'no target', withLine('POST HTTP/1.1\r\n')),
  refused('RFC 9112 §3', 'an empty target', withLine('POST  HTTP/1.1\r\n')),
  refused('RFC 9112 §3', 'a method alone', withLine('POST\r\n')),
  refused(
    'RFC 9112 §3',
    'a request of HTTP/0.9',
    () => 'GET /openapi.json\r\n\r\n',
    'versionUnsupported',
  ),
  refused(
    'RFC 9113 §3.4',
    'the preface of HTTP/2',
    () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u0000\u0000\u0000\u0004\u0000\u0000\u0000\u0000\u0000',
    'versionUnsupported',
  ),
  refused(
    'RFC 9112 §3',
    'the hello of TLS',
    () => '\u0016\u0003\u0001\u0000\u0005\u0001\u0000\u0000\u0001\u0000',
  ),
  refused('RFC 9112 §3', 'a reply', () => 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
  refused('RFC 9112 §3', 'words', () => 'hello, is this the plant store?\r\n\r\n'),
  refused('RFC 9112 §3', 'JSON', (body) => `${body}\r\n`),
];

const v10 = (fields: string, body: string) =>
  `POST /plants HTTP/1.0\r\n${fields}${authorization}${json}${length}\r\n${body}`;

const host: readonly HttpCase[] = [
  ...field(
    'Host',
    [
      ' localhost',
      ' a:80',
      ' a:',
      ' A.b-c_d~',
      ' 127.0.0.1:8080',
      ' [::1]',
      ' [::1]:80',
      ' a,b',
      ' a%20b',
      '',
      ' ',
      ' :80',
      ' a:99999',
      '\ta\t',
    ],
    (value) => accepted('RFC 9112 §3.2, RFC 3986 §3.2.2', '', withHost(value)),
  ),
  ...field(
    'Host',
    [
      ' a b',
      ' a/',
      ' a/b',
      ' u@a',
      ' u:p@a',
      ' http://a',
      ' a:b',
      ' a:80:80',
      ' a:-1',
      ' a:8 0',
      ' a?b',
      ' a#b',
      ' [::1',
      ' ::1',
      ' []',
      ' [::1]x',
      ' a\\b',
      ' "a"',
      ' <a>',
      ' a%2',
      ' a%zz',
      ' \u00e4',
      ' a\u00ff',
      ' a, b',
      ' a\tb',
      ' {a}',
      ' a|b',
      ' a^b',
      ' `a`',
    ],
    (value) => refused('RFC 9112 §3.2', '', withHost(value)),
  ),
  ...[
    ['Host: a\r\nHost: a\r\n', 'twice'],
    ['Host: a\r\nhost: b\r\n', 'with two values'],
    ['Host: a\r\nHOST:\r\n', 'with one empty'],
    ['Host:\r\nHost: a\r\n', 'with the first empty'],
    ['Host:\r\nHost:\r\n', 'twice empty'],
    [`Host: a\r\n${'a: b\r\n'.repeat(60)}hOST: a\r\n`, 'twice, far apart'],
    [`Host: a\r\n${'a:\r\n'.repeat(900)}Host: b\r\n`, 'twice, 900 fields apart'],
  ].map(([hosts, what]) =>
    refused(
      'RFC 9112 §3.2',
      `Host ${what}`,
      (body) => `${line}${hosts}${authorization}${json}${length}\r\n${body}`,
    ),
  ),
  refused('RFC 9112 §3.2', 'no Host in HTTP/1.1', (body) =>
    create(body).replace('Host: a\r\n', ''),
  ),
  refused('RFC 9112 §3.2', 'no Host in HTTP/1.1 with an absolute target', (body) =>
    withTarget('http://a/plants')(body).replace('Host: a\r\n', ''),
  ),
  accepted('RFC 9112 §3.2', 'no Host in HTTP/1.0', (body) =>
    v10('Connection: keep-alive\r\n', body),
  ),
  refused('RFC 9112 §3.2', 'an invalid Host in HTTP/1.0', (body) =>
    v10('Connection: keep-alive\r\nHost: a b\r\n', body),
  ),
  refused('RFC 9112 §3.2', 'two Hosts in HTTP/1.0', (body) =>
    v10('Connection: keep-alive\r\nHost: a\r\nHost: b\r\n', body),
  ),
];

const target: readonly HttpCase[] = [
  ...field(
    'target',
    [
      'http://a/plants',
      'https://a/plants',
      'HTTP://A/plants',
      'hTTpS://a/plants',
      'http://other.example:81/plants',
      'http://[::1]:80/plants',
      'http://a:/plants',
      'http://a/plants?b',
      'http://a%20b/plants',
    ],
    (value) => accepted('RFC 9112 §3.2.2', '', withTarget(value)),
  ),
  ...field(
    'target',
    [
      'http://a/plants#b',
      'http://u@a/plants',
      'http://u:p@a/plants',
      'http://a@b/plants',
      'http:///plants',
      'http://',
      'http://:80/plants',
      'http:/plants',
      'http:plants',
      'http://a:b/plants',
      'http://a b/plants',
      'http://a\\plants',
      'http://[::1/plants',
      'http://a"/plants',
      'ftp://a/plants',
      'ws://a/plants',
      'a:80',
      'a',
      'plants',
      'plants/',
      'a.b:80',
      '127.0.0.1:80',
      '[::1]:80',
      '?',
      '?a',
      '#',
      '@a',
      ':80',
      '*a',
      '*/plants',
      '**',
    ],
    (value) => refused('RFC 9112 §3.2', '', withTarget(value)),
  ),
  ...field(
    'target',
    ['http://a', 'http://a/', 'http://a?b', 'http://a//plants', 'http://a/plants/', '*'],
    (value) => declined('RFC 9112 §3.2.2', '', 'pathUnknown', withTarget(value)),
  ),
  {
    what: 'OPTIONS *',
    rfc: 'RFC 9112 §3.2.4',
    bytes: () => 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n',
    answers: ['pathUnknown'],
    after: 'open',
  },
  ...field(
    'target',
    [
      '/plants?',
      '/plants??',
      '/plants?a=b&c',
      '/plants?/../x',
      '/plants?%00',
      "/plants?:@!$&'()*+,;=-._~",
      `/plants?${'a'.repeat(8_000)}`,
    ],
    (value) => accepted('RFC 9112 §3.2.1', '', withTarget(value)),
  ),
  ...field(
    'target',
    [
      '/%70lants',
      '/plants%2f',
      '/plants%00',
      '/./plants',
      '/x/../plants',
      '/plants/.',
      '/../plants',
      '//plants',
      '//a/plants',
      '/plants//',
      '/plants/',
      '/PLANTS',
      '/plants;a=b',
      '/plants%20',
      '/plant',
      '/',
      '/plants&a',
      `/${'a'.repeat(8_000)}`,
      '/__proto__',
      '/constructor',
      '/plants:80',
      '/@',
      '/http://a/plants',
    ],
    (value) => declined('RFC 9112 §3.2.1', '', 'pathUnknown', withTarget(value)),
  ),
  ...field(
    'target',
    [
      '/plants#',
      '/plants#x',
      '/plants?a=#',
      '/plants?#',
      '/#/plants',
      '/plants%',
      '/plants%2',
      '/plants%zz',
      '/plants?%',
      '/plants?%g0',
      '/%',
      '/openapi.json#a',
    ],
    (value) => refused('RFC 9112 §3.2', '', withTarget(value)),
  ),
  ...[...'"<>\\^`{|}[]\u0000\u0001\u0009\u000b\u000c\u001f\u007f\u0080\u00e4\u00ff'].flatMap(
    (byte) => [
      refused(
        'RFC 9112 §3.2, RFC 3986 §2',
        `the target ${shown(`/plants${byte}`)}`,
        withTarget(`/plants${byte}`),
      ),
      refused(
        'RFC 9112 §3.2, RFC 3986 §2',
        `the target ${shown(`/plants?a${byte}`)}`,
        withTarget(`/plants?a${byte}`),
      ),
      refused(
        'RFC 9112 §3.2, RFC 3986 §2',
        `the target ${shown(`${byte}/plants`)}`,
        withTarget(`${byte}/plants`),
      ),
    ],
  ),
  ...field('target', ['/plants a', '/plants a b', '/pl ants', 'http://a/ plants'], (value) =>
    refused('RFC 9112 §3.2', '', withTarget(value)),
  ),
  refused(
    'RFC 9112 §3',
    'a target of 17 KB',
    withTarget(`/plants?${'a'.repeat(17_000)}`),
    'headersTooLarge',
  ),
  accepted('RFC 9112 §3', 'a target of 15 KB', withTarget(`/plants?${'a'.repeat(15_000)}`)),
];

const noBody = (method: string, path = '/plants') =>
  `${method} ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

const methods: readonly HttpCase[] = [
  ...[
    'GET',
    'PUT',
    'DELETE',
    'PATCH',
    'OPTIONS',
    'TRACE',
    'QUERY',
    'PROPFIND',
    'M-SEARCH',
    'SOURCE',
    'UNSUBSCRIBE',
  ].map((method) =>
    declined('RFC 9110 §15.5.6', `${method} of the plants`, 'methodNotAllowed', () =>
      noBody(method),
    ),
  ),
  ...[
    'PLANT',
    'X',
    'POSTS',
    'POS',
    'P',
    'G',
    'GE',
    'GETX',
    'post',
    'Post',
    'pOST',
    'POSt',
    "!#$%&'*+-.^_`|~09azAZ",
    'A'.repeat(100),
    `POST${'T'.repeat(100)}`,
    'M-SEARCHX',
    'DESCRIBE',
    'ANNOUNCE',
    'PLAY',
  ].map((method) =>
    declined(
      'RFC 9110 §9.1',
      `the method ${shown(method)}`,
      'methodNotAllowed',
      withLine(`${method} /plants HTTP/1.1\r\n`),
    ),
  ),
  ...[
    'P OST',
    'PO/ST',
    'POST,',
    '"POST"',
    'P\u0000ST',
    'POST\u0000',
    'PÖST',
    'POST:',
    '(POST)',
    'POST\t',
    'POST\r',
    'PO\rST',
    'PO\nST',
    '@',
    '{',
    'G\u00e9T',
    'X\u007f',
    'X,',
  ].map((method) =>
    refused(
      'RFC 9110 §9.1',
      `the method ${shown(method)}`,
      withLine(`${method} /plants HTTP/1.1\r\n`),
    ),
  ),
  ...['PLANT  HTTP/1.1', 'PLANT', 'PLANT /plants HTTP/1.1 '].map((bad) =>
    refused('RFC 9112 §3', `the line ${shown(bad)}`, withLine(`${bad}\r\n`)),
  ),
  ...['PLANT /plants HTTP/2.5', 'PLANT /plants'].map((bad) =>
    refused(
      'RFC 9110 §15.6.6',
      `the line ${shown(bad)}`,
      withLine(`${bad}\r\n`),
      'versionUnsupported',
    ),
  ),
  refused('RFC 9112 §2.2', 'an unknown method and a bare LF', withLine('PLANT /plants HTTP/1.1\n')),
  refused(
    'RFC 9112 §3',
    'an unknown method with a target of 20 KB',
    withLine(`PLANT /${'a'.repeat(20_000)} HTTP/1.1\r\n`),
    'headersTooLarge',
  ),
  {
    what: 'an unknown method behind a create',
    rfc: 'RFC 9110 §9.1',
    bytes: (plant) => create(plant(1)) + noBody('PLANT'),
    answers: [1, 'methodNotAllowed'],
    after: 'open',
  },
  {
    what: 'words behind a create',
    rfc: 'RFC 9112 §3',
    bytes: (plant) => `${create(plant(1))}what is this\r\n\r\n`,
    answers: [1, 'httpMalformed'],
    after: 'closed',
  },
  cut('RFC 9112 §8', 'half of an unknown method, and the end', () => 'PLA'),
  cut('RFC 9112 §8', 'half of a known method, and the end', () => 'POS'),
  refused(
    'RFC 9110 §9.3.6',
    'CONNECT',
    () => 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n',
    'methodNotAllowed',
  ),
  refused(
    'RFC 9110 §9.3.6',
    'CONNECT with a body',
    (body) => `CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n${length}\r\n${body}`,
    'methodNotAllowed',
  ),
  refused(
    'RFC 9110 §9.3.6',
    'CONNECT in chunks',
    (body) => `CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n${chunked}\r\n${hex}\r\n${body}\r\n${last}`,
    'methodNotAllowed',
  ),
  refused(
    'RFC 9112 §3.2.3',
    'CONNECT with a path',
    withLine('CONNECT /plants HTTP/1.1\r\n'),
    'methodNotAllowed',
  ),
  {
    what: 'CONNECT behind a create',
    rfc: 'RFC 9110 §9.3.6',
    bytes: (plant) => `${create(plant(1))}CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n`,
    answers: [1, 'methodNotAllowed'],
    after: 'closed',
  },
  {
    what: 'HEAD of the plants',
    rfc: 'RFC 9110 §9.3.2',
    bytes: () => noBody('HEAD'),
    answers: [{ head: 'methodNotAllowed' }],
    after: 'open',
  },
  {
    what: 'HEAD with a body',
    rfc: 'RFC 9110 §9.3.2',
    bytes: ofOne((body) => `HEAD /plants HTTP/1.1\r\nHost: a\r\n${length}\r\n${body}`),
    answers: [{ head: 'methodNotAllowed' }],
    after: 'open',
  },
  {
    what: 'HEAD with a malformed Host and a body',
    rfc: 'RFC 9112 §3.2',
    bytes: ofOne((body) => `HEAD /plants HTTP/1.1\r\nHost: a b\r\n${length}\r\n${body}`),
    answers: [{ head: 'httpMalformed' }],
    after: 'closed',
  },
  {
    what: 'GET with a body',
    rfc: 'RFC 9110 §9.3.1',
    bytes: ofOne((body) => `${get(length)}${body}`),
    answers: ['described'],
    after: 'open',
  },
  {
    what: 'GET with a body that is a create',
    rfc: 'RFC 9110 §9.3.1',
    bytes: ofOne((body) => `${get(`Content-Length: ${create(body).length}\r\n`)}${create(body)}`),
    answers: ['described'],
    after: 'open',
  },
];

const expect: readonly HttpCase[] = [
  ...field(
    'Expect',
    ['100-continue', '100-Continue', '100-CONTINUE', ' 100-continue\t'],
    (value) => ({
      ...accepted('RFC 9110 §10.1.1', '', withFields(`Expect: ${value}\r\n`)),
      answers: ['continue', 1],
    }),
  ),
  ...field(
    'Expect',
    [
      'x',
      '',
      '100',
      '100-continue;a=b',
      '100-continue, x',
      'x, 100-continue',
      '100-continue x',
      '"100-continue"',
      '100-continue, 100-continue',
      '200-ok',
      'x100-continue',
    ],
    (value) =>
      refused('RFC 9110 §10.1.1', '', withFields(`Expect: ${value}\r\n`), 'expectationFailed'),
  ),
  refused(
    'RFC 9110 §10.1.1',
    'Expect twice',
    withFields(`Expect: 100-continue\r\n${'a: b\r\n'.repeat(40)}EXPECT: 100-continue\r\n`),
    'expectationFailed',
  ),
  refused(
    'RFC 9110 §10.1.1',
    'an unknown Expect behind a known one',
    withFields('Expect: 100-continue\r\nexpect: x\r\n'),
    'expectationFailed',
  ),
  refused(
    'RFC 9110 §10.1.1',
    'an unknown Expect behind 900 fields',
    withFields(`${'a:\r\n'.repeat(900)}Expect: x\r\n`),
    'expectationFailed',
  ),
  accepted('RFC 9110 §10.1.1', 'Expect in HTTP/1.0', (body) =>
    v10('Connection: keep-alive\r\nExpect: 100-continue\r\n', body),
  ),
  accepted('RFC 9110 §10.1.1', 'an unknown Expect in HTTP/1.0', (body) =>
    v10('Connection: keep-alive\r\nExpect: x\r\n', body),
  ),
  refused(
    'RFC 9110 §10.1.1',
    'Expect with a wrong token, and the body all the same',
    (body) => withFields('Expect: 100-continue\r\n')(body).replace(token, 'wrong'),
    'tokenInvalid',
  ),
  refused(
    'RFC 9110 §10.1.1',
    'Expect with a wrong path, and the body all the same',
    (body) => withFields('Expect: 100-continue\r\n')(body).replace('/plants', '/x'),
    'pathUnknown',
  ),
  {
    what: 'Expect with a body that is no plant',
    rfc: 'RFC 9110 §10.1.1',
    bytes: () => withFields('Expect: 100-continue\r\n')('x'.repeat(size)),
    answers: ['continue', 'bodyMalformed'],
    after: 'open',
  },
  {
    what: 'Expect in chunks',
    rfc: 'RFC 9110 §10.1.1',
    bytes: (plant) => oneChunk(plant(1)).replace(chunked, `${chunked}Expect: 100-continue\r\n`),
    answers: ['continue', 1],
    after: 'open',
  },
];

const closing = (what: string, bytes: OfOne): HttpCase => ({
  what,
  rfc: 'RFC 9112 §9.6',
  bytes: ofOne(bytes),
  answers: [1],
  after: 'closed',
});

const ignored = (what: string, bytes: OfOne) => accepted('RFC 9110 §7.8, §6.5.1', what, bytes);

const connection: readonly HttpCase[] = [
  ...[
    'close',
    'Close',
    'close, keep-alive',
    'keep-alive, close',
    'keep-alive,close',
    'x, close',
    'close, x',
    'close\r\nConnection: keep-alive',
    'keep-alive\r\nConnection: close',
    'x\r\nconnection: CLOSE',
    'close, close',
    ' , close',
    'upgrade, close',
  ].map((value) => closing(`Connection: ${shown(value)}`, withFields(`Connection: ${value}\r\n`))),
  ...[
    'keep-alive',
    'x',
    '',
    'closed',
    'xclose',
    'close-x',
    'clos',
    '"close"',
    'content-length',
    'host, authorization',
    'te',
    'transfer-encoding',
  ].map((value) =>
    accepted(
      'RFC 9110 §7.6.1',
      `Connection: ${shown(value)}`,
      withFields(`Connection: ${value}\r\n`),
    ),
  ),
  closing('HTTP/1.0', (body) => v10('', body)),
  closing('HTTP/1.0 with Connection: close, keep-alive', (body) =>
    v10('Connection: close, keep-alive\r\n', body),
  ),
  closing('HTTP/1.0 with Connection: x', (body) => v10('Connection: x\r\n', body)),
  accepted('RFC 9112 §9.3', 'HTTP/1.0 with Connection: Keep-Alive', (body) =>
    v10('Connection: Keep-Alive\r\n', body),
  ),
  accepted('RFC 9112 §9.3', 'Keep-Alive', withFields('Keep-Alive: timeout=1, max=1\r\n')),
  // The service takes no other protocol, and goes on with this one.
  ...['websocket', 'h2c', 'HTTP/2.0', 'TLS/1.0', 'x'].flatMap((protocol) => [
    ignored(`Upgrade: ${protocol}`, withFields(`Upgrade: ${protocol}\r\n`)),
    ignored(
      `Upgrade: ${protocol} with Connection: upgrade`,
      withFields(`Upgrade: ${protocol}\r\nConnection: Upgrade\r\n`),
    ),
    ignored(`Upgrade: ${protocol} in chunks`, (body) =>
      oneChunk(body).replace(
        chunked,
        `${chunked}Upgrade: ${protocol}\r\nConnection: Upgrade, HTTP2-Settings\r\n`,
      ),
    ),
    ignored(`Upgrade: ${protocol} in HTTP/1.0`, (body) =>
      v10(`Upgrade: ${protocol}\r\nConnection: Upgrade, keep-alive\r\n`, body),
    ),
  ]),
  {
    what: 'a GET that asks for a web socket',
    rfc: 'RFC 9110 §7.8',
    bytes: () =>
      get(
        'Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n',
      ),
    answers: ['described'],
    after: 'open',
  },
  declined('RFC 9110 §7.8', 'an Upgrade that is refused', 'tokenInvalid', (body) =>
    withFields('Upgrade: websocket\r\nConnection: upgrade\r\n')(body).replace(token, 'wrong'),
  ),
  ignored('Proxy-Connection: close', withFields('Proxy-Connection: close\r\n')),
  ignored('Connection: close in a trailer', (body) =>
    oneChunk(body, '0\r\nConnection: close\r\n\r\n'),
  ),
];

const tens = Array.from({ length: 10 }, (_, n) => n + 1);
const fifty = Array.from({ length: 50 }, (_, n) => n + 1);

const pipelines: readonly HttpCase[] = [
  {
    what: 'two creates',
    rfc: 'RFC 9112 §9.3.2',
    bytes: (plant) => create(plant(1)) + create(plant(2)),
    answers: [1, 2],
    after: 'open',
  },
  {
    what: 'fifty creates',
    rfc: 'RFC 9112 §9.3.2',
    bytes: (plant) => fifty.map((n) => create(plant(n))).join(''),
    answers: fifty,
    after: 'open',
  },
  {
    what: 'creates with a length and in chunks by turns',
    rfc: 'RFC 9112 §9.3.2',
    bytes: (plant) => tens.map((n) => (n % 2 ? create(plant(n)) : oneChunk(plant(n)))).join(''),
    answers: tens,
    after: 'open',
  },
  {
    what: 'a create and garbage',
    rfc: 'RFC 9112 §9.3.2',
    bytes: (plant) => `${create(plant(1))}\u0000\u0001\u0002\r\n\r\n`,
    answers: [1, 'httpMalformed'],
    after: 'closed',
  },
  {
    what: 'garbage and a create',
    rfc: 'RFC 9112 §9.3.2',
    bytes: (plant) => `"garbage"\r\n\r\n${create(plant(1))}`,
    answers: ['httpMalformed'],
    after: 'closed',
  },
  {
    what: 'three creates and a broken chunk',
    rfc: 'RFC 9112 §7.1',
    bytes: (plant) =>
      `${create(plant(1))}${create(plant(2))}${create(plant(3))}${withSize('x')(plant(4))}`,
    answers: [1, 2, 3, 'httpMalformed'],
    after: 'closed',
  },
  {
    what: 'a create, a malformed Host and a create',
    rfc: 'RFC 9112 §9.6',
    bytes: (plant) => create(plant(1)) + withHost(' a b')(plant(2)) + create(plant(3)),
    answers: [1, 'httpMalformed'],
    after: 'closed',
  },
  {
    what: 'a create, one that closes, and a create',
    rfc: 'RFC 9112 §9.6',
    bytes: (plant) =>
      create(plant(1)) + withFields('Connection: close\r\n')(plant(2)) + create(plant(3)),
    answers: [1, 2],
    after: 'closed',
  },
  {
    what: 'a body that is too large, and creates',
    rfc: 'RFC 9112 §9.6',
    bytes: (plant) => withFraming('Content-Length: 1048577\r\n')(plant(1)) + create(plant(2)),
    answers: ['bodyTooLarge'],
    after: 'closed',
  },
  refused(
    'RFC 9112 §9.6',
    'a body in chunks that is too large, and whose framing then breaks',
    () => inChunks(`100001\r\n${'x'.repeat(0x100001)}xx`),
    'bodyTooLarge',
  ),
  {
    what: 'a refused body and a create',
    rfc: 'RFC 9112 §9.3',
    bytes: (plant) => create(plant(1)).replace(token, 'wrong') + create(plant(2)),
    answers: ['tokenInvalid', 2],
    after: 'open',
  },
  {
    what: 'a refused body in chunks and a create',
    rfc: 'RFC 9112 §9.3',
    bytes: (plant) => oneChunk(plant(1)).replace(token, 'wrong') + create(plant(2)),
    answers: ['tokenInvalid', 2],
    after: 'open',
  },
  {
    what: 'a refused body whose chunks break',
    rfc: 'RFC 9112 §7.1',
    bytes: (plant) => withSize('x')(plant(1)).replace(token, 'wrong'),
    answers: ['tokenInvalid'],
    after: 'closed',
  },
  {
    what: 'no JSON and a create',
    rfc: 'RFC 9112 §9.3',
    bytes: (plant) => create('x'.repeat(size)) + create(plant(2)),
    answers: ['bodyMalformed', 2],
    after: 'open',
  },
  {
    what: 'a HEAD with a body and a create',
    rfc: 'RFC 9112 §9.3',
    bytes: (plant) =>
      `HEAD /plants HTTP/1.1\r\nHost: a\r\n${length}\r\n${plant(1)}${create(plant(2))}`,
    answers: [{ head: 'methodNotAllowed' }, 2],
    after: 'open',
  },
  {
    what: 'a GET with a body and a create',
    rfc: 'RFC 9112 §9.3',
    bytes: (plant) => `${get(length)}${plant(1)}${create(plant(2))}`,
    answers: ['described', 2],
    after: 'open',
  },
  {
    what: 'a create, and a HEAD with a body and a malformed Host',
    rfc: 'RFC 9112 §9.6',
    bytes: (plant) =>
      `${create(plant(1))}HEAD /plants HTTP/1.1\r\nHost: a b\r\n${length}\r\n${plant(2)}`,
    answers: [1, { head: 'httpMalformed' }],
    after: 'closed',
  },
  {
    what: 'a create, and a refused Expect',
    rfc: 'RFC 9112 §9.6',
    bytes: (plant) => create(plant(1)) + withFields('Expect: x\r\n')(plant(2)),
    answers: [1, 'expectationFailed'],
    after: 'closed',
  },
  {
    what: 'every plant twice',
    rfc: 'RFC 9112 §9.3.2',
    bytes: (plant) => tens.map((n) => create(plant(n)) + create(plant(n))).join(''),
    answers: tens.flatMap((n) => [n, n]),
    after: 'open',
  },
];

const filler = (bytes: number) => `X: ${'x'.repeat(bytes - 'X: \r\n'.length)}\r\n`;
/** Without the empty line at the end. */
const bytesOfUsual = create('').length - '\r\n\r\n'.length;
const headerBytesMax = 16_384;
const fieldsMax = 1_000;

const manyFields: readonly HttpCase[] = [
  ...[100, 500, fieldsMax - 4].map((count) =>
    accepted('RFC 9112 §5', `${count} more fields`, withFields('a:b\r\n'.repeat(count))),
  ),
  ...[fieldsMax - 3, 1_999, 2_001, 5_000, 20_000].map((count) =>
    refused(
      'RFC 6585 §5',
      `${count} more fields`,
      withFields('a:b\r\n'.repeat(count)),
      'headersTooLarge',
    ),
  ),
  refused(
    'RFC 6585 §5',
    'one field too many, and malformed',
    () => `${line}${usual}${length}${'a:b\r\n'.repeat(fieldsMax - 4)}a b\r\n\r\n`,
    'headersTooLarge',
  ),
  refused(
    'RFC 6585 §5',
    '20 000 empty fields',
    withFields('a:\r\n'.repeat(20_000)),
    'headersTooLarge',
  ),
  accepted(
    'RFC 6585 §5',
    'a head of just 16 KiB',
    withFields(filler(headerBytesMax - bytesOfUsual)),
  ),
  refused(
    'RFC 6585 §5',
    'a head just above 16 KiB',
    withFields(filler(headerBytesMax - bytesOfUsual + 1)),
    'headersTooLarge',
  ),
  // The parser must neither hand over less than all fields, nor let go what it does not hand over.
  ...[500, fieldsMax - 5].flatMap((count) => {
    const many = (hidden: string) => (body: string) =>
      `${line}${usual}${'a:\r\n'.repeat(count)}${hidden}${length}\r\n${body}`;
    return [
      declined(
        'RFC 9110 §5.3',
        `a second Authorization behind ${count} fields`,
        'authorizationMalformed',
        many('Authorization: Bearer x\r\n'),
      ),
      declined(
        'RFC 9110 §8.3',
        `a second Content-Type behind ${count} fields`,
        'mediaTypeUnsupported',
        many('Content-Type: text/plain\r\n'),
      ),
      declined(
        'RFC 9110 §8.4',
        `Content-Encoding behind ${count} fields`,
        'mediaTypeUnsupported',
        many('Content-Encoding: gzip\r\n'),
      ),
      refused('RFC 9112 §3.2', `a second Host behind ${count} fields`, many('Host: b\r\n')),
      refused(
        'RFC 9112 §6.3',
        `a second Content-Length behind ${count} fields`,
        many('Content-Length: 5\r\n'),
      ),
      refused('RFC 9112 §6.3', `Transfer-Encoding behind ${count} fields`, many(chunked)),
      refused(
        'RFC 9110 §10.1.1',
        `Expect behind ${count} fields`,
        many('Expect: x\r\n'),
        'expectationFailed',
      ),
      refused(
        'RFC 9112 §6.1',
        `an unknown Transfer-Encoding behind ${count} fields`,
        (body) =>
          `${line}${usual}${'a:\r\n'.repeat(count)}Transfer-Encoding: gzip, chunked\r\n\r\n${hex}\r\n${body}\r\n${last}`,
      ),
      accepted(
        'RFC 9112 §5',
        `everything behind ${count} fields`,
        (body) => `${line}${'a:\r\n'.repeat(count)}${usual}${length}\r\n${body}`,
      ),
    ];
  }),
  ...[1_000, 1_999, 2_001, 5_000].flatMap((count) =>
    [
      'Authorization: Bearer x',
      'Content-Type: text/plain',
      'Host: b',
      'Content-Length: 5',
      'Transfer-Encoding: chunked',
      'Expect: x',
    ].map((hidden) =>
      refused(
        'RFC 6585 §5',
        `${hidden} behind ${count} fields`,
        (body) => `${line}${usual}${'a:\r\n'.repeat(count)}${hidden}\r\n${length}\r\n${body}`,
        'headersTooLarge',
      ),
    ),
  ),
];

const apart = 'a: b\r\n'.repeat(50);
const others = ['Bearer x', 'bearer x', 'Basic YTpi', '', `Bearer ${token}`, ',', 'x'];

const duplicates: readonly HttpCase[] = [
  ...others.flatMap((other, index) => {
    const ours = authorization.replace(
      'Authorization',
      ['AUTHORIZATION', 'authorization', 'Authorization'][index % 3] ?? '',
    );
    const theirs = `aUTHORIZATION: ${other}\r\n`;
    const two = (pair: string) => (body: string) => create(body).replace(authorization, pair);
    return [
      declined(
        'RFC 9110 §5.3',
        `Authorization, then ${shown(other)}`,
        'authorizationMalformed',
        two(`${ours}${theirs}`),
      ),
      declined(
        'RFC 9110 §5.3',
        `Authorization after ${shown(other)}`,
        'authorizationMalformed',
        two(`${theirs}${ours}`),
      ),
      declined(
        'RFC 9110 §5.3',
        `Authorization, far before ${shown(other)}`,
        'authorizationMalformed',
        two(`${ours}${apart}${theirs}`),
      ),
      declined(
        'RFC 9110 §5.3',
        `Authorization, far behind ${shown(other)}`,
        'authorizationMalformed',
        two(`${theirs}${apart}${ours}`),
      ),
    ];
  }),
  ...[
    ['application/json', 'application/json'],
    ['application/json', 'text/plain'],
    ['text/plain', 'application/json'],
    ['application/json;a=b', 'text/plain'],
    ['application/json;a=b', 'application/json'],
    ['application/json; charset=utf-8', 'application/json; charset=iso-8859-1'],
    ['application/json; a="b', 'c"'],
    ['application/json', ''],
    ['', 'application/json'],
  ].map(([first, second]) =>
    declined(
      'RFC 9110 §8.3',
      `Content-Type ${first} and ${second}`,
      'mediaTypeUnsupported',
      (body) =>
        create(body).replace(json, `Content-Type: ${first}\r\n${apart}content-type: ${second}\r\n`),
    ),
  ),
  ...[
    ['identity', 'gzip'],
    ['', ''],
    ['', 'gzip'],
  ].map(([first, second]) =>
    declined(
      'RFC 9110 §8.4',
      `Content-Encoding ${first} and ${second}`,
      'mediaTypeUnsupported',
      withFields(`Content-Encoding: ${first}\r\nContent-Encoding: ${second}\r\n`),
    ),
  ),
];

const wholeRequest = (body: string) => create(body);

const cutShort: readonly HttpCase[] = [
  cut('RFC 9112 §8', 'nothing at all', () => '', []),
  cut('RFC 9112 §2.2', 'an empty line', () => '\r\n', []),
  cut('RFC 9112 §2.2', 'half of an empty line', () => '\r', []),
  cut('RFC 9112 §8', 'a whole create', (body) => wholeRequest(body), [1]),
  cut('RFC 9112 §8', 'a whole create in chunks', (body) => oneChunk(body), [1]),
  cut('RFC 9112 §8', 'a whole body but for its last byte', (body) =>
    wholeRequest(body).slice(0, -1),
  ),
  cut('RFC 9112 §8', 'the first byte of the body', (body) => wholeRequest(body).slice(0, 1 - size)),
  cut('RFC 9112 §8', 'no body', (body) => wholeRequest(body).slice(0, -size)),
  cut('RFC 9112 §8', 'the fields but for their last byte', (body) =>
    wholeRequest(body).slice(0, -size - 1),
  ),
  cut('RFC 9112 §8', 'a field', () => `${line}Host: a`),
  cut('RFC 9112 §8', 'the name of a field', () => `${line}Ho`),
  cut('RFC 9112 §8', 'the request line', () => line),
  cut('RFC 9112 §8', 'the request line but for its last byte', () => line.slice(0, -1)),
  cut('RFC 9112 §8', 'a part of the target', () => 'POST /pla'),
  cut(
    'RFC 9112 §8',
    'a plant that is whole, though its Content-Length says more',
    withFraming('Content-Length: 29\r\n'),
  ),
  {
    what: 'a create and half of another',
    rfc: 'RFC 9112 §8',
    bytes: (plant) => create(plant(1)) + create(plant(2)).slice(0, -1),
    answers: [1, 'httpMalformed'],
    after: 'cut',
  },
  {
    what: 'a create and a part of a request line',
    rfc: 'RFC 9112 §8',
    bytes: (plant) => `${create(plant(1))}POST /pl`,
    answers: [1, 'httpMalformed'],
    after: 'cut',
  },
  {
    what: 'fifty creates',
    rfc: 'RFC 9112 §8',
    bytes: (plant) => fifty.map((n) => create(plant(n))).join(''),
    answers: fifty,
    after: 'cut',
  },
  {
    what: 'a refused create without its body',
    rfc: 'RFC 9112 §8',
    bytes: (plant) => create(plant(1)).replace(token, 'wrong').slice(0, -1),
    answers: ['tokenInvalid'],
    after: 'cut',
  },
];

/** Every case, by the part of HTTP that it attacks. */
export const httpCases: Readonly<Record<string, readonly HttpCase[]>> = {
  'Content-Length': contentLength,
  'Transfer-Encoding': transferEncoding,
  chunks,
  trailers,
  'field lines': fields,
  'request line': requestLine,
  Host: host,
  'request target': target,
  methods,
  Expect: expect,
  connection,
  pipelining: pipelines,
  'many fields': manyFields,
  'duplicate fields': duplicates,
  'cut short': cutShort,
};
