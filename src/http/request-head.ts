import { tokenCharacter } from '../contract/media-type.ts';
import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';

/** Values by name in lower case, in the order of their lines. */
export type Fields = ReadonlyMap<string, readonly string[]>;

export interface RequestHead {
  readonly method: string;
  readonly target: string;
  readonly version: '1.0' | '1.1';
  readonly fields: Fields;
  /** The value of `traceparent`, cut to `labelCharsMax`. Undefined for several. */
  readonly label: string | undefined;
  /** Bytes of the body, 0 without a body; or a body that ends with its last chunk. */
  readonly framing: number | 'chunked';
  readonly expectsContinue: boolean;
  readonly keepsAlive: boolean;
  /** Refuses a request of well-formed lines. Nothing is read behind such a request. */
  readonly fault: Refusal | undefined;
}

/** RFC 3986 §3.2.2, without the empty `reg-name`. */
const host = String.raw`(?:\[[0-9A-Fa-fv:.]+\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})+)`;
/** RFC 3986 §3.3, with slashes between the segments. */
const path = String.raw`(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*`;
const query = path.replace('@/', '@/?');

/** uri-host [":" port], or nothing (RFC 9110 §7.2). */
const validHost = new RegExp(`^${host}?(?::[0-9]*)?$`);

const originOrAbsoluteForm = new RegExp(
  `^(?:(?=/)|https?://${host}(?::[0-9]*)?(?=[/?]|$))(${path})(?:\\?${query})?$`,
  'i',
);

/** Does not count as a part of the head: it may become the end of the head. */
const unfinishedEndOfHead = /\r(?:\n\r?)?$/;
const requestLine = new RegExp(`^(${tokenCharacter}+) +([!-~]+)(?: +HTTP/([0-9])\\.([0-9]))?$`);
const fieldLine = new RegExp(`^(${tokenCharacter}+):([\\t -~\\x80-\\xff]*)$`);
const unfinishedRequestLine = new RegExp(`^${tokenCharacter}*(?: +(?:[!-~]+(?: +[!-~]*)?)?)?\\r?$`);

/**
 * Reads the request line and the field lines (RFC 9112 §3, §5). Refuses what another
 * implementation may read differently, so that a proxy and this service agree on where a request
 * ends.
 *
 * @param text latin1, without the empty line at the end
 * @returns a refusal with code 40006, 43100 or 50500 if a line is malformed
 */
export function readHead(text: string): RequestHead | Refusal {
  const [first = '', ...lines] = text.split('\r\n');
  const request = readRequestLine(first);
  if (request instanceof Refusal) return request;
  const fields = readFields(lines);
  if (fields instanceof Refusal) return fields;
  const { method, target, version } = request;
  const fault =
    method === 'CONNECT'
      ? noTunnels
      : (hostFault(fields, version) ??
        framingFault(fields, version) ??
        expectFault(fields, version));
  const options = fields.get('connection')?.join();
  return {
    method,
    target,
    version,
    fields,
    label: labelIn(fields.get('traceparent')),
    framing: fault ? 0 : framingOf(fields),
    expectsContinue: version === '1.1' && fields.has('expect'),
    keepsAlive:
      !fault &&
      !hasOption(options, 'close') &&
      (version === '1.1' || hasOption(options, 'keep-alive')),
    fault,
  };
}

/** A fault of the first line or of the size, which no further bytes can repair. */
export function findFault(bytes: Buffer): Refusal | undefined {
  const text = bytes.toString('latin1', 0, limits.http.headerBytesMax + '\r\n\r\n'.length);
  const end = text.indexOf('\r\n');
  const isPossible = end >= 0 || unfinishedRequestLine.test(text);
  const first = end < 0 ? undefined : readRequestLine(text.slice(0, end));
  if (!isPossible) return notARequestLine;
  if (first instanceof Refusal) return first;
  const isTooLarge = text.replace(unfinishedEndOfHead, '').length > limits.http.headerBytesMax;
  return isTooLarge ? headersTooLarge : undefined;
}

function readRequestLine(
  line: string,
): Pick<RequestHead, 'method' | 'target' | 'version'> | Refusal {
  const [, method, target, major, minor] = requestLine.exec(line) ?? [];
  if (method === undefined || target === undefined) return notARequestLine;
  // HTTP/0.9 has no version.
  if (major === undefined)
    return pathOf(target) === undefined
      ? malformed('the request line has no version')
      : versionUnsupported;
  if (major !== '1' || (minor !== '0' && minor !== '1')) return versionUnsupported;
  return { method, target, version: `${major}.${minor}` };
}

/** The path of a request target; undefined if the target is malformed (RFC 9112 §3.2). */
export function pathOf(target: string): string | undefined {
  return target === '*' ? target : originOrAbsoluteForm.exec(target)?.[1];
}

function readFields(lines: readonly string[]): Fields | Refusal {
  const fields = new Map<string, string[]>();
  for (const [index, line] of lines.entries()) {
    if (index >= limits.http.headerFieldsMax) return headersTooLarge;
    const field = readField(line);
    if (field instanceof Refusal) return field;
    const before = fields.get(field.name);
    if (before === undefined) fields.set(field.name, [field.value]);
    else before.push(field.value);
  }
  return fields;
}

/** Reads a header or trailer line. The name is in lower case. */
export function readField(line: string): { name: string; value: string } | Refusal {
  const [, name, value] = fieldLine.exec(line) ?? [];
  if (name === undefined || value === undefined) return malformedField;
  return { name: name.toLowerCase(), value: trimSpace(value) };
}

/** Removes spaces and tabs (RFC 9110 §5.6.3). `String.trim` removes more. */
function trimSpace(value: string): string {
  let start = 0;
  let end = value.length;
  while (isSpace(value.charCodeAt(start))) start += 1;
  while (end > start && isSpace(value.charCodeAt(end - 1))) end -= 1;
  return value.slice(start, end);
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x09;
}

/** RFC 9112 §3.2: exactly one in HTTP/1.1, and at most one in HTTP/1.0. */
function hostFault(fields: Fields, version: string): Refusal | undefined {
  const hosts = fields.get('host');
  if (hosts === undefined)
    return version === '1.1' ? malformed('the Host header is missing') : undefined;
  return hosts.length === 1 && validHost.test(hosts[0] as string)
    ? undefined
    : malformed('the Host header must be one valid host');
}

const lengthMax = 2n ** 64n - 1n;

/** RFC 9112 §6.3. A length that could be read in two ways is refused. */
function framingFault(fields: Fields, version: string): Refusal | undefined {
  const lengths = fields.get('content-length');
  const codings = fields.get('transfer-encoding');
  if (codings !== undefined) {
    if (lengths !== undefined)
      return malformed('Content-Length and Transfer-Encoding exclude each other');
    if (version === '1.1' && codings.length === 1 && codings[0]?.toLowerCase() === 'chunked')
      return undefined;
    return malformed('the only supported Transfer-Encoding is chunked, in HTTP/1.1');
  }
  if (lengths === undefined) return undefined;
  const [length = ''] = lengths;
  const isLength =
    lengths.length === 1 &&
    /^[0-9]+$/.test(length) &&
    (length.length < 16 || BigInt(length) <= lengthMax);
  return isLength ? undefined : malformed('Content-Length must be one number of bytes');
}

function framingOf(fields: Fields): RequestHead['framing'] {
  return fields.has('transfer-encoding') ? 'chunked' : Number(fields.get('content-length') ?? 0);
}

/** RFC 9110 §10.1.1. HTTP/1.0 does not have the field. */
function expectFault(fields: Fields, version: string): Refusal | undefined {
  const expectations = fields.get('expect');
  if (expectations === undefined || version === '1.0') return undefined;
  return expectations.length === 1 && expectations[0]?.toLowerCase() === '100-continue'
    ? undefined
    : expectationFailed;
}

export const labelCharsMax = 64;

function labelIn([value, ...others]: readonly string[] = []): string | undefined {
  if (value === undefined || others.length > 0) return undefined;
  // A copy: a part of a string keeps the whole head of the request in memory.
  return Buffer.from(value.slice(0, labelCharsMax), 'latin1').toString('latin1');
}

/** Whether the values of Connection name the option (RFC 9110 §7.6.1). */
function hasOption(options: string | undefined, option: string): boolean {
  if (options === undefined) return false;
  return options.split(',').some((one) => trimSpace(one).toLowerCase() === option);
}

export function malformed(why: string): Refusal {
  return new Refusal('httpMalformed', `The request is not well-formed HTTP: ${why}.`);
}

export const targetMalformed = new Refusal(
  'httpMalformed',
  'The request target is neither a path nor an http URL (RFC 3986).',
);
const notARequestLine = malformed('the first line is not a request line');
const malformedField = malformed('a header or trailer line is malformed');
export const headersTooLarge = new Refusal('headersTooLarge');
const versionUnsupported = new Refusal('versionUnsupported');
const expectationFailed = new Refusal('expectationFailed');
const noTunnels = new Refusal(
  'methodNotAllowed',
  'The service is not a proxy and does not support CONNECT.',
  { Allow: 'POST' },
);
