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

function accepted(what: string, bytes: OfOne): HttpCase {
  return { what, bytes: ofOne(bytes), answers: [1], after: 'open' };
}

function refused(what: string, bytes: OfOne, problem: ProblemName = 'httpMalformed'): HttpCase {
  return { what, bytes: ofOne(bytes), answers: [problem], after: 'closed' };
}

/** Refused, though it is well-formed; so the next request is served. */
function declined(what: string, problem: ProblemName, bytes: OfOne): HttpCase {
  return { what, bytes: ofOne(bytes), answers: [problem], after: 'open' };
}

function cut(what: string, bytes: OfOne, answers: readonly Answer[] = ['httpMalformed']): HttpCase {
  return { what, bytes: ofOne(bytes), answers, after: 'cut' };
}

function exchange(
  what: string,
  answers: readonly Answer[],
  after: HttpCase['after'],
  bytes: HttpCase['bytes'],
): HttpCase {
  return { what, bytes, answers, after };
}

const shown = (text: string) => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
const field = (name: string, values: readonly string[], make: (value: string) => HttpCase) =>
  values.map((value) => ({ ...make(value), what: `${name}: ${shown(value)}` }));

const contentLength: readonly HttpCase[] = [
  // RFC 9112 §6.3
  refused('Content-Length before Transfer-Encoding', (body) =>
    withFraming(`${length}${chunked}`)(`${hex}\r\n${body}\r\n${last}`),
  ),
  refused('Content-Length after Transfer-Encoding', (body) =>
    withFraming(`${chunked}${length}`)(`${hex}\r\n${body}\r\n${last}`),
  ),
  refused('two equal Content-Lengths', withFraming(`${length}${length}`)),
  refused('two different Content-Lengths', withFraming(`${length}Content-Length: 5\r\n`)),
  // RFC 9110 §8.6
  ...field(
    'Content-Length',
    [
      ...['28, 28', '28, 5', '+28', '-28', '0x1c', '2 8', '28.0', '', ' ', ',', '28\u000b'],
      ...['\u000b28', '28\u0000', '2\u00b28', '\u00a028', '28\r', '28\r\n 0', '28\r\n\t'],
      ...['18446744073709551616', '18446744073709551644', '99999999999999999999', '9'.repeat(400)],
    ],
    (value) => refused('', withFraming(`Content-Length: ${value}\r\n`)),
  ),
  ...field('Content-Length', ['1048577', '9007199254740993'], (value) =>
    refused('', withFraming(`Content-Length: ${value}\r\n`), 'bodyTooLarge'),
  ),
  ...field(
    'Content-Length',
    ['28 ', '28\t', '  28', '\t28', '0028', `${'0'.repeat(100)}28`],
    (value) => accepted('', withFraming(`Content-Length: ${value}\r\n`)),
  ),
  // RFC 9110 §5.1
  accepted('Content-Length in another case', withFraming(`cOnTeNt-LeNgTh: ${size}\r\n`)),
  // RFC 9112 §6.3
  declined('no length, so there is no body', 'bodyMalformed', () => withFraming('')('')),
  declined('Content-Length: 0', 'bodyMalformed', () => withFraming('Content-Length: 0\r\n')('')),
  exchange(
    'a body longer than its Content-Length',
    ['bodyMalformed', 'httpMalformed'],
    'closed',
    ofOne(withFraming('Content-Length: 27\r\n')),
  ),
];

const transferEncoding: readonly HttpCase[] = [
  // RFC 9112 §7
  ...field('Transfer-Encoding', ['chunked', 'CHUNKED', 'chunked ', 'chunked\t'], (value) =>
    accepted('', (body) =>
      withFraming(`Transfer-Encoding:${value}\r\n`)(`${hex}\r\n${body}\r\n${last}`),
    ),
  ),
  // RFC 9112 §6.1
  ...field(
    'Transfer-Encoding',
    [
      'chunked, chunked',
      'gzip, chunked',
      'identity',
      'chunkedx',
      '"chunked"',
      'chunked x',
      '',
      'chunked,',
      '\u000bchunked',
      'chunked\u0000',
      'chunked\r',
      '\r\n chunked',
    ],
    (value) =>
      refused('', (body) =>
        withFraming(`Transfer-Encoding:${value}\r\n`)(`${hex}\r\n${body}\r\n${last}`),
      ),
  ),
  ...[
    ['chunked', 'chunked'],
    ['chunked', 'identity'],
    ['chunked', ''],
  ].map(([first, second]) =>
    refused(`Transfer-Encoding: ${first} and then ${second}`, (body) =>
      withFraming(
        `Transfer-Encoding: ${first}\r\n${'a: b\r\n'.repeat(40)}transfer-encoding: ${second}\r\n`,
      )(`${hex}\r\n${body}\r\n${last}`),
    ),
  ),
  ...['chunked', 'identity', 'gzip, chunked'].map((coding) =>
    refused(`Transfer-Encoding: ${coding} in HTTP/1.0`, (body) =>
      withLine('POST /plants HTTP/1.0\r\n')('')
        .replace(length, `Connection: keep-alive\r\nTransfer-Encoding: ${coding}\r\n`)
        .concat(`${hex}\r\n${body}\r\n${last}`),
    ),
  ),
  // RFC 9112 §5.1
  refused('a space between Transfer-Encoding and its colon', (body) =>
    withFraming('Transfer-Encoding : chunked\r\n')(`${hex}\r\n${body}\r\n${last}`),
  ),
  // RFC 9110 §5.1
  exchange(
    'Transfer_Encoding is another field',
    ['bodyMalformed', 'httpMalformed'],
    'closed',
    ofOne((body) => withFraming('Transfer_Encoding: chunked\r\n')(`${hex}\r\n${body}\r\n${last}`)),
  ),
];

const chunks: readonly HttpCase[] = [
  // RFC 9112 §7.1
  accepted('one chunk', (body) => oneChunk(body)),
  accepted('a chunk for every byte', (body) =>
    inChunks(`${[...body].map((byte) => `1\r\n${byte}\r\n`).join('')}${last}`),
  ),
  ...field('chunk size', ['1C', '001c', `${'0'.repeat(30)}1c`], (value) =>
    accepted('', withSize(value)),
  ),
  accepted('several zeros as the last chunk', (body) => oneChunk(body, '000\r\n\r\n')),
  ...field(
    'chunk size',
    ['', '1c ', '+1c', '1c\u0000', '1c\r', 'FFFFFFFFFFFFFFFFF', 'zz'],
    (value) => refused('', withSize(value)),
  ),
  ...field(
    'chunk size',
    ['FFFFFFFFFFFFFFFF', '7FFFFFFFFFFFFFFF', '8000000000000000', '10000001c'],
    (value) => cut('', withSize(value)),
  ),
  // RFC 9112 §7.1.1
  ...field(
    'chunk extension',
    [';a', ';a=b', ';a="b"', ';a="b c;d=\\"e\\\\"', '; a=b', '\t;\ta = "b" ; c'],
    (value) => accepted('', withSize(`${hex}${value}`)),
  ),
  ...field(
    'chunk extension',
    [';', ';a="b', ';a=b"', ';a="\u0001"', ';a\rb', ';a="\r\n"', ',a=b'],
    (value) => refused('', withSize(`${hex}${value}`)),
  ),
  refused('a chunk extension of 20 KB', withSize(`${hex};a=${'b'.repeat(20_000)}`)),
  refused('28 chunk extensions of 1 KB', (body) =>
    inChunks(`${body.replaceAll(/./g, `1;a=${'b'.repeat(1_000)}\r\n$&\r\n`)}${last}`),
  ),
  accepted('a chunk extension on the last chunk', (body) => oneChunk(body, '0;a=b\r\n\r\n')),
  // RFC 9112 §7.1
  ...['1b', '1d', '1', '20'].map((wrong) =>
    refused(`a plant in a chunk of ${wrong}`, withSize(wrong)),
  ),
  refused('no line end after the data of a chunk', (body) => inChunks(`${hex}\r\n${body}${last}`)),
  refused('two other bytes after the data', (body) => inChunks(`${hex}\r\n${body}xx${last}`)),
  refused('a line feed after the chunk size', (body) => inChunks(`${hex}\n${body}\r\n${last}`)),
  refused('a line feed after the data', (body) => inChunks(`${hex}\r\n${body}\n${last}`)),
  refused('a line feed after the last chunk', (body) => oneChunk(body, '0\n\r\n')),
  refused('a carriage return at the end of the body', (body) => oneChunk(body, '0\r\n\r')),
  // RFC 9112 §8
  cut('no last chunk, and the end', (body) => inChunks(`${hex}\r\n${body}\r\n`)),
  cut('no line end after the last chunk, and the end', (body) => oneChunk(body, '0\r\n')),
  cut('half a trailer, and the end', (body) => oneChunk(body, '0\r\nA: b')),
];

const trailers: readonly HttpCase[] = [
  // RFC 9112 §7.1.2
  ...field('trailer', ['A: b', 'A: b\r\nC: d', 'A:', 'A: \u00e4'], (value) =>
    accepted('', (body) => oneChunk(body, `0\r\n${value}\r\n\r\n`)),
  ),
  // RFC 9110 §6.5.1
  ...field(
    'trailer',
    ['Authorization: Bearer wrong', 'Content-Type: text/plain', 'Content-Encoding: gzip'],
    (value) => accepted('', (body) => oneChunk(body, `0\r\n${value}\r\n\r\n`)),
  ),
  ...['Authorization', 'Content-Type'].map((name) =>
    declined(
      `${name} in the trailers only`,
      name === 'Authorization' ? 'tokenMissing' : 'mediaTypeUnsupported',
      (body) => {
        const whole = name === 'Authorization' ? authorization : json;
        return oneChunk(body, `0\r\n${whole}\r\n`).replace(whole, '');
      },
    ),
  ),
  refused('Host in the trailers only', (body) =>
    oneChunk(body, '0\r\nHost: a\r\n\r\n').replace('Host: a\r\n', ''),
  ),
  // RFC 9112 §5
  ...field(
    'trailer',
    [
      'this is no field',
      ': b',
      'A : b',
      'A: b\r\n c',
      'A: \u0001',
      'A: b\rc',
      'A: b\nC: d',
      'Content-Length: 5',
      'Transfer-Encoding: gzip',
    ],
    (value) => refused('', (body) => oneChunk(body, `0\r\n${value}\r\n\r\n`)),
  ),
  // RFC 6585 §5
  ...[
    ['a trailer of 20 KB', `A: ${'b'.repeat(20_000)}\r\n`],
    ['20 trailers of 1 KB', `A: ${'b'.repeat(1_000)}\r\n`.repeat(20)],
    ['1,001 trailers', 'a:\r\n'.repeat(1_001)],
  ].map(([what = '', lines]) =>
    refused(what, (body) => oneChunk(body, `0\r\n${lines}\r\n`), 'headersTooLarge'),
  ),
  // RFC 9112 §7.1.2
  accepted('900 trailers', (body) => oneChunk(body, `0\r\n${'a: b\r\n'.repeat(900)}\r\n`)),
];

const fields: readonly HttpCase[] = [
  // RFC 9112 §5.2
  refused('a folded field', withFields('A: b\r\n c\r\n')),
  refused('a folded Authorization', (body) => create(body).replace('Bearer ', 'Bearer\r\n ')),
  // RFC 9112 §5.1
  refused('a space before the colon', withFields('A : b\r\n')),
  refused('an empty field name', withFields(': b\r\n')),
  refused('a line without a colon', withFields('A\r\n')),
  // RFC 9112 §2.2
  refused('a space before the first field', withFields(' A: b\r\n')),
  // RFC 9110 §5.6.2
  ...[...'"(,/;=@[\\{ \u0000\u001f\u007f\u0080'].map((byte) =>
    refused(`the field name ${shown(`A${byte}B`)}`, withFields(`A${byte}B: c\r\n`)),
  ),
  accepted(
    'every character of a token in a field name',
    withFields("!#$%&'*+-.^_`|~09azAZ: b\r\n"),
  ),
  // RFC 9110 §5.5
  ...[...'\u0000\u000b\u001f\u007f'].flatMap((byte) => [
    refused(`the field value ${shown(`a${byte}b`)}`, withFields(`A: a${byte}b\r\n`)),
    refused(`the field value ${shown(`${byte}a`)}`, withFields(`A: ${byte}a\r\n`)),
    refused(
      `the Connection value ${shown(`close${byte}`)}`,
      withFields(`Connection: close${byte}\r\n`),
    ),
  ]),
  accepted(
    'every byte from 0x80 to 0xff in a field value',
    withFields(`A: ${String.fromCharCode(...Array.from({ length: 128 }, (_, n) => n + 128))}\r\n`),
  ),
  accepted('tabs and spaces in a field value', withFields('A: \t b \t c \t\r\n')),
  // RFC 9112 §5.1
  accepted('no space after the colon', withFields('A:b\r\n')),
  // RFC 9110 §5.5
  accepted('an empty field value', withFields('A:\r\nB: \r\nC:\t\r\n')),
  // RFC 9110 §5.6.3
  accepted('spaces and tabs around the token', (body) =>
    create(body).replace('Bearer ', ' \t Bearer ').replace(`${token}\r\n`, `${token} \t \r\n`),
  ),
  // RFC 9112 §2.2
  refused('a bare CR in a field value', withFields('A: b\rc\r\n')),
  refused('a bare CR that hides a field', withFields('A: b\rContent-Length: 5\r\n')),
  refused('a bare LF that hides a field', withFields('A: b\nContent-Length: 5\r\n')),
  refused('a bare LF after the request line', (body) =>
    create(body).replace('HTTP/1.1\r\n', 'HTTP/1.1\n'),
  ),
  refused('a bare LF after a field', withFields('A: b\n')),
  refused('a bare LF at the end of the fields', (body) =>
    create(body).replace('\r\n\r\n', '\r\n\n'),
  ),
  refused('bare LF everywhere', (body) => create(body).replaceAll('\r\n', '\n')),
];

const requestLine: readonly HttpCase[] = [
  // RFC 9112 §2.2
  accepted('an empty line before the request', (body) => `\r\n${create(body)}`),
  accepted('512 empty lines before the request', (body) => `${'\r\n'.repeat(512)}${create(body)}`),
  refused('513 empty lines before the request', (body) => `${'\r\n'.repeat(513)}${create(body)}`),
  exchange(
    'an empty line between two requests',
    [1, 2],
    'open',
    (plant) => `${create(plant(1))}\r\n${create(plant(2))}`,
  ),
  refused('bare line feeds before the request', (body) => `\n\n${create(body)}`),
  refused('bare carriage returns before the request', (body) => `\r\r${create(body)}`),
  // RFC 9112 §2.3
  refused('RTSP/1.0', (body) => v10('Connection: keep-alive\r\n', body).replace('HTTP/', 'RTSP/')),
  // RFC 9112 §3
  refused('a space before the request', (body) => ` ${create(body)}`),
  ...field(
    'request line',
    [
      'POST\t/plants HTTP/1.1',
      'POST /plants\tHTTP/1.1',
      'POST /plants HTTP/1.1 ',
      'POST /plants HTTP /1.1',
    ],
    (value) => refused('', withLine(`${value}\r\n`)),
  ),
  // RFC 9112 §3, which lets it be
  ...field('request line', ['POST  /plants HTTP/1.1', 'POST /plants  HTTP/1.1'], (value) =>
    accepted('', withLine(`${value}\r\n`)),
  ),
  // RFC 9112 §2.3
  ...field(
    'request line',
    [
      'POST /plants http/1.1',
      'POST /plants HTTP/1.10',
      'POST /plants HTTP/1.1;a',
      'POST /plants HTTP/1.1\u0000',
      'POST /plants HTTP/1.1\r',
    ],
    (value) => refused('', withLine(`${value}\r\n`)),
  ),
  // RFC 9110 §15.6.6
  ...field(
    'version',
    ['HTTP/0.9', 'HTTP/2.0', 'HTTP/1.2', 'HTTP/3.0', 'HTTP/0.0', 'HTTP/1.9', 'HTTP/9.9'],
    (value) => refused('', withLine(`POST /plants ${value}\r\n`), 'versionUnsupported'),
  ),
  // RFC 9112 §3
  refused('no version', withLine('POST /plants\r\n'), 'versionUnsupported'),
  refused('no target', withLine('POST HTTP/1.1\r\n')),
  refused('an empty target', withLine('POST  HTTP/1.1\r\n')),
  refused('a request of HTTP/0.9', () => 'GET /openapi.json\r\n\r\n', 'versionUnsupported'),
  // RFC 9113 §3.4
  refused(
    'the preface of HTTP/2',
    () => 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\u0000\u0000\u0000\u0004\u0000\u0000\u0000\u0000\u0000',
    'versionUnsupported',
  ),
  // RFC 9112 §3
  refused('the hello of TLS', () => '\u0016\u0003\u0001\u0000\u0005\u0001\u0000\u0000\u0001\u0000'),
  refused('a reply', () => 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
];

const v10 = (fields: string, body: string) =>
  `POST /plants HTTP/1.0\r\n${fields}${authorization}${json}${length}\r\n${body}`;

const host: readonly HttpCase[] = [
  // RFC 9112 §3.2, RFC 3986 §3.2.2
  ...field(
    'Host',
    [' localhost', ' a:80', ' 127.0.0.1:8080', ' [::1]:80', ' a,b', '', '\ta\t'],
    (value) => accepted('', withHost(value)),
  ),
  // RFC 9112 §3.2
  ...field('Host', [' a b', ' u@a', ' http://a', ' a:80:80', ' ::1', ' "a"', ' \u00e4'], (value) =>
    refused('', withHost(value)),
  ),
  ...[
    ['Host: a\r\nHost: a\r\n', 'twice'],
    ['Host: a\r\nhost: b\r\n', 'with two values'],
    ['Host:\r\nHost: a\r\n', 'with the first empty'],
    [`Host: a\r\n${'a: b\r\n'.repeat(60)}hOST: a\r\n`, 'twice, far apart'],
    [`Host: a\r\n${'a:\r\n'.repeat(900)}Host: b\r\n`, 'twice, 900 fields apart'],
  ].map(([hosts, what]) =>
    refused(`Host ${what}`, (body) => `${line}${hosts}${authorization}${json}${length}\r\n${body}`),
  ),
  refused('no Host in HTTP/1.1', (body) => create(body).replace('Host: a\r\n', '')),
  refused('no Host in HTTP/1.1 with an absolute target', (body) =>
    withTarget('http://a/plants')(body).replace('Host: a\r\n', ''),
  ),
  accepted('no Host in HTTP/1.0', (body) => v10('Connection: keep-alive\r\n', body)),
];

const target: readonly HttpCase[] = [
  // RFC 9112 §3.2.2
  ...field(
    'target',
    [
      'http://a/plants',
      'http://other.example:81/plants',
      'http://[::1]:80/plants',
      'http://a%20b/plants',
    ],
    (value) => accepted('', withTarget(value)),
  ),
  // RFC 9112 §3.2
  ...field(
    'target',
    [
      'http://a/plants#b',
      'http://u@a/plants',
      'http:///plants',
      'http:plants',
      'http://a b/plants',
      'ftp://a/plants',
      'a:80',
      'plants',
    ],
    (value) => refused('', withTarget(value)),
  ),
  // RFC 9112 §3.2.2
  ...field(
    'target',
    ['http://a', 'http://a/', 'http://a?b', 'http://a//plants', 'http://a/plants/', '*'],
    (value) => declined('', 'pathUnknown', withTarget(value)),
  ),
  // RFC 9112 §3.2.4
  exchange('OPTIONS *', ['pathUnknown'], 'open', () => 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n'),
  // RFC 9112 §3.2.1
  ...field(
    'target',
    ['/plants?', "/plants?:@!$&'()*+,;=-._~", `/plants?${'a'.repeat(8_000)}`],
    (value) => accepted('', withTarget(value)),
  ),
  ...field(
    'target',
    [
      '/%70lants',
      '/plants%2f',
      '/../plants',
      '//plants',
      '/plants/',
      '/PLANTS',
      `/${'a'.repeat(8_000)}`,
      '/http://a/plants',
    ],
    (value) => declined('', 'pathUnknown', withTarget(value)),
  ),
  // RFC 9112 §3.2
  ...field('target', ['/plants#', '/plants%', '/plants%zz'], (value) =>
    refused('', withTarget(value)),
  ),
  // RFC 9112 §3.2, RFC 3986 §2
  ...[...'"<\\^`{[\u0000\u0009\u001f\u007f\u0080'].flatMap((byte) => [
    refused(`the target ${shown(`/plants${byte}`)}`, withTarget(`/plants${byte}`)),
    refused(`the target ${shown(`/plants?a${byte}`)}`, withTarget(`/plants?a${byte}`)),
    refused(`the target ${shown(`${byte}/plants`)}`, withTarget(`${byte}/plants`)),
  ]),
  // RFC 9112 §3
  refused('a target of 17 KB', withTarget(`/plants?${'a'.repeat(17_000)}`), 'headersTooLarge'),
  accepted('a target of 15 KB', withTarget(`/plants?${'a'.repeat(15_000)}`)),
];

const noBody = (method: string, path = '/plants') =>
  `${method} ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;

const methods: readonly HttpCase[] = [
  // RFC 9110 §15.5.6
  ...['GET', 'PUT', 'DELETE', 'OPTIONS', 'QUERY', 'M-SEARCH'].map((method) =>
    declined(`${method} of the plants`, 'methodNotAllowed', () => noBody(method)),
  ),
  // RFC 9110 §9.1
  ...['PLANT', 'post', "!#$%&'*+-.^_`|~09azAZ", 'DESCRIBE'].map((method) =>
    declined(
      `the method ${shown(method)}`,
      'methodNotAllowed',
      withLine(`${method} /plants HTTP/1.1\r\n`),
    ),
  ),
  ...['P OST', 'POST,', 'POST\u0000', 'PÖST', '(POST)', 'POST\r', 'PO\nST', '{', 'X\u007f'].map(
    (method) => refused(`the method ${shown(method)}`, withLine(`${method} /plants HTTP/1.1\r\n`)),
  ),
  // RFC 9112 §8
  cut('half of an unknown method, and the end', () => 'PLA'),
  // RFC 9110 §9.3.6
  refused('CONNECT', () => 'CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n', 'methodNotAllowed'),
  // RFC 9110 §9.3.6
  exchange(
    'CONNECT behind a create',
    [1, 'methodNotAllowed'],
    'closed',
    (plant) => `${create(plant(1))}CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n`,
  ),
  // RFC 9110 §9.3.2
  exchange('HEAD of the plants', [{ head: 'methodNotAllowed' }], 'open', () => noBody('HEAD')),
  // RFC 9112 §3.2
  exchange(
    'HEAD with a malformed Host and a body',
    [{ head: 'httpMalformed' }],
    'closed',
    ofOne((body) => `HEAD /plants HTTP/1.1\r\nHost: a b\r\n${length}\r\n${body}`),
  ),
  // RFC 9110 §9.3.1
  exchange(
    'GET with a body',
    ['described'],
    'open',
    ofOne((body) => `${get(length)}${body}`),
  ),
];

const expect: readonly HttpCase[] = [
  // RFC 9110 §10.1.1
  ...field(
    'Expect',
    ['100-continue', '100-Continue', '100-CONTINUE', ' 100-continue\t'],
    (value) => ({
      ...accepted('', withFields(`Expect: ${value}\r\n`)),
      answers: ['continue', 1],
    }),
  ),
  ...field(
    'Expect',
    ['', '100-continue, x', '100-continue x', '100-continue, 100-continue', 'x100-continue'],
    (value) => refused('', withFields(`Expect: ${value}\r\n`), 'expectationFailed'),
  ),
  refused(
    'Expect twice',
    withFields(`Expect: 100-continue\r\n${'a: b\r\n'.repeat(40)}EXPECT: 100-continue\r\n`),
    'expectationFailed',
  ),
  refused(
    'Expect with a wrong token, and the body all the same',
    (body) => withFields('Expect: 100-continue\r\n')(body).replace(token, 'wrong'),
    'tokenInvalid',
  ),
  exchange('Expect in chunks', ['continue', 1], 'open', (plant) =>
    oneChunk(plant(1)).replace(chunked, `${chunked}Expect: 100-continue\r\n`),
  ),
  // Whether the client sends the body after such a reply is not known.
  exchange('GET with Expect', ['described'], 'closed', () =>
    get(`${length}Expect: 100-continue\r\n`),
  ),
];

const closing = (what: string, bytes: OfOne): HttpCase => ({
  what,
  bytes: ofOne(bytes),
  answers: [1],
  after: 'closed',
});

const connection: readonly HttpCase[] = [
  ...[
    'close',
    'close, keep-alive',
    'close\r\nConnection: keep-alive',
    'x\r\nconnection: CLOSE',
  ].map((value) => closing(`Connection: ${shown(value)}`, withFields(`Connection: ${value}\r\n`))),
  // RFC 9110 §7.6.1
  ...['keep-alive', '', 'closed', 'close-x', 'host, authorization', 'transfer-encoding'].map(
    (value) => accepted(`Connection: ${shown(value)}`, withFields(`Connection: ${value}\r\n`)),
  ),
  closing('HTTP/1.0', (body) => v10('', body)),
  closing('HTTP/1.0 with Connection: close, keep-alive', (body) =>
    v10('Connection: close, keep-alive\r\n', body),
  ),
  // RFC 9112 §9.3
  accepted('HTTP/1.0 with Connection: Keep-Alive', (body) =>
    v10('Connection: Keep-Alive\r\n', body),
  ),
  accepted('Keep-Alive', withFields('Keep-Alive: timeout=1, max=1\r\n')),
  // The service takes no other protocol, and goes on with this one.
  ...['websocket', 'h2c'].flatMap((protocol) => [
    accepted(
      `Upgrade: ${protocol} with Connection: upgrade`,
      withFields(`Upgrade: ${protocol}\r\nConnection: Upgrade\r\n`),
    ),
    accepted(`Upgrade: ${protocol} in chunks`, (body) =>
      oneChunk(body).replace(
        chunked,
        `${chunked}Upgrade: ${protocol}\r\nConnection: Upgrade, HTTP2-Settings\r\n`,
      ),
    ),
  ]),
  // RFC 9110 §7.8
  exchange('a GET that asks for a web socket', ['described'], 'open', () =>
    get(
      'Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n',
    ),
  ),
  declined('an Upgrade that is refused', 'tokenInvalid', (body) =>
    withFields('Upgrade: websocket\r\nConnection: upgrade\r\n')(body).replace(token, 'wrong'),
  ),
  accepted('Connection: close in a trailer', (body) =>
    oneChunk(body, '0\r\nConnection: close\r\n\r\n'),
  ),
];

const tens = Array.from({ length: 10 }, (_, n) => n + 1);
const fifty = Array.from({ length: 50 }, (_, n) => n + 1);

const pipelines: readonly HttpCase[] = [
  // RFC 9112 §9.3.2
  exchange('two creates', [1, 2], 'open', (plant) => create(plant(1)) + create(plant(2))),
  exchange('fifty creates', fifty, 'open', (plant) => fifty.map((n) => create(plant(n))).join('')),
  exchange('creates with a length and in chunks by turns', tens, 'open', (plant) =>
    tens.map((n) => (n % 2 ? create(plant(n)) : oneChunk(plant(n)))).join(''),
  ),
  // RFC 9112 §7.1
  exchange(
    'three creates and a broken chunk',
    [1, 2, 3, 'httpMalformed'],
    'closed',
    (plant) =>
      `${create(plant(1))}${create(plant(2))}${create(plant(3))}${withSize('x')(plant(4))}`,
  ),
  // RFC 9112 §9.6
  exchange(
    'a create, one that closes, and a create',
    [1, 2],
    'closed',
    (plant) => create(plant(1)) + withFields('Connection: close\r\n')(plant(2)) + create(plant(3)),
  ),
  exchange(
    'a body that is too large, and creates',
    ['bodyTooLarge'],
    'closed',
    (plant) => withFraming('Content-Length: 1048577\r\n')(plant(1)) + create(plant(2)),
  ),
  refused(
    'a body in chunks that is too large, and whose framing then breaks',
    () => inChunks(`100001\r\n${'x'.repeat(0x100001)}xx`),
    'bodyTooLarge',
  ),
  // RFC 9112 §9.3
  exchange(
    'a refused body and a create',
    ['tokenInvalid', 2],
    'open',
    (plant) => create(plant(1)).replace(token, 'wrong') + create(plant(2)),
  ),
  // RFC 9112 §7.1
  exchange('a refused body whose chunks break', ['tokenInvalid'], 'closed', (plant) =>
    withSize('x')(plant(1)).replace(token, 'wrong'),
  ),
];

const filler = (bytes: number) => `X: ${'x'.repeat(bytes - 'X: \r\n'.length)}\r\n`;
/** Without the empty line at the end. */
const bytesOfUsual = create('').length - '\r\n\r\n'.length;
const headerBytesMax = 16_384;
const fieldsMax = 1_000;
const many = 'a:\r\n'.repeat(fieldsMax - 5);
const behindMany = (hidden: string) => (body: string) =>
  `${line}${usual}${many}${hidden}${length}\r\n${body}`;

const manyFields: readonly HttpCase[] = [
  // RFC 9112 §5
  ...[100, 500, fieldsMax - 4].map((count) =>
    accepted(`${count} more fields`, withFields('a:b\r\n'.repeat(count))),
  ),
  // RFC 6585 §5
  ...[fieldsMax - 3, 1_999, 2_001, 5_000, 20_000].map((count) =>
    refused(`${count} more fields`, withFields('a:b\r\n'.repeat(count)), 'headersTooLarge'),
  ),
  accepted('a head of just 16 KiB', withFields(filler(headerBytesMax - bytesOfUsual))),
  refused(
    'a head just above 16 KiB',
    withFields(filler(headerBytesMax - bytesOfUsual + 1)),
    'headersTooLarge',
  ),
  // The parser must neither hand over less than all fields, nor let go what it does not hand over.
  declined(
    'a second Authorization behind many fields',
    'authorizationMalformed',
    behindMany('Authorization: Bearer x\r\n'),
  ),
  refused('a second Host behind many fields', behindMany('Host: b\r\n')),
  refused('a second Content-Length behind many fields', behindMany('Content-Length: 5\r\n')),
  refused('Transfer-Encoding behind many fields', behindMany(chunked)),
  refused('Expect behind many fields', behindMany('Expect: x\r\n'), 'expectationFailed'),
  accepted('everything behind many fields', (body) => `${line}${many}${usual}${length}\r\n${body}`),
];

const apart = 'a: b\r\n'.repeat(50);

const duplicates: readonly HttpCase[] = [
  // RFC 9110 §8.3
  ...[
    ['application/json', 'application/json'],
    ['application/json', 'text/plain'],
    ['text/plain', 'application/json'],
    ['application/json; a="b', 'c"'],
    ['', 'application/json'],
  ].map(([first, second]) =>
    declined(`Content-Type ${first} and ${second}`, 'mediaTypeUnsupported', (body) =>
      create(body).replace(json, `Content-Type: ${first}\r\n${apart}content-type: ${second}\r\n`),
    ),
  ),
  // RFC 9110 §8.4
  declined(
    'Content-Encoding identity and gzip',
    'mediaTypeUnsupported',
    withFields('Content-Encoding: identity\r\nContent-Encoding: gzip\r\n'),
  ),
];

const cutShort: readonly HttpCase[] = [
  // RFC 9112 §8
  cut('nothing at all', () => '', []),
  // RFC 9112 §2.2
  cut('an empty line', () => '\r\n', []),
  // RFC 9112 §8
  cut('a whole create', create, [1]),
  cut('a whole body but for its last byte', (body) => create(body).slice(0, -1)),
  cut('no body', (body) => create(body).slice(0, -size)),
  cut('the fields but for their last byte', (body) => create(body).slice(0, -size - 1)),
  cut('a field', () => `${line}Host: a`),
  cut('the request line', () => line),
  cut(
    'a plant that is whole, though its Content-Length says more',
    withFraming('Content-Length: 29\r\n'),
  ),
  exchange(
    'a create and half of another',
    [1, 'httpMalformed'],
    'cut',
    (plant) => create(plant(1)) + create(plant(2)).slice(0, -1),
  ),
  exchange('a refused create without its body', ['tokenInvalid'], 'cut', (plant) =>
    create(plant(1)).replace(token, 'wrong').slice(0, -1),
  ),
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
