import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import { pathOf, tokenCharacter, validHost } from './grammar.ts';

/** The values of the fields by name in lower case, each in the order of its lines. */
export type Fields = ReadonlyMap<string, readonly string[]>;

/** What a request says before its body. */
export interface RequestHead {
  readonly method: string;
  readonly target: string;
  readonly version: '1.0' | '1.1';
  readonly fields: Fields;
  /**
   * How the end of the body is found: after so many bytes (0 if there is none), or after the last
   * chunk.
   */
  readonly framing: number | 'chunked';
  /** The client waits for `100 Continue` before it sends the body (RFC 9110 §10.1.1). */
  readonly expectsContinue: boolean;
  /** Whether the connection may serve another request after this one (RFC 9112 §9.3). */
  readonly keepsAlive: boolean;
  /**
   * Why the request is refused whatever it asks for, although its lines are well-formed. What comes
   * behind it means nothing.
   */
  readonly fault: Refusal | undefined;
}

/** What may become the end of a head, and so does not count as a part of it. */
const begunEndOfHead = /\r(?:\n\r?)?$/;
const requestLine = new RegExp(`^(${tokenCharacter}+) +([!-~]+)(?: +HTTP/([0-9])\\.([0-9]))?$`);
const fieldLine = new RegExp(`^(${tokenCharacter}+):([\\t -~\\x80-\\xff]*)$`);
/** What may become such lines with more bytes. */
const unfinishedRequestLine = new RegExp(`^${tokenCharacter}*(?: +(?:[!-~]+(?: +[!-~]*)?)?)?\\r?$`);
const unfinishedFieldLine = new RegExp(`^(?:${tokenCharacter}+(?::[\\t -~\\x80-\\xff]*)?)?\\r?$`);

/**
 * Reads the request line and the field lines (RFC 9112 §3, §5), strictly: what another
 * implementation might read in another way is refused, so that no proxy and this service ever
 * disagree on where a request ends.
 *
 * @param text in latin1, so that a character is a byte; without the empty line at the end
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
    framing: fault ? 0 : framingOf(fields),
    expectsContinue: version === '1.1' && fields.has('expect'),
    keepsAlive:
      !fault &&
      !hasOption(options, 'close') &&
      (version === '1.1' || hasOption(options, 'keep-alive')),
    fault,
  };
}

/**
 * A head that has come in part. Each of its lines is read once, since it may come a byte at a time.
 */
export class UnfinishedHead {
  /** What the lines that have been read hold together, with their ends. */
  private bytesRead = 0;
  private linesRead = 0;

  /**
   * Finds out whether it is refused already, whatever follows. That is the refusal of the whole
   * head.
   *
   * @param position of its first byte in `input`
   */
  findFault(input: Buffer, position: number): Refusal | undefined {
    const bytesMax = limits.http.headerBytesMax - this.bytesRead;
    const start = position + this.bytesRead;
    const text = input.toString('latin1', start, start + bytesMax + '\r\n\r\n'.length);
    const lines = text.slice(0, bytesMax).split('\r\n');
    const last = lines.pop() ?? '';
    for (const line of lines) {
      const fault = this.readLine(line);
      if (fault) return fault;
    }
    return (
      this.findFaultOfLast(last) ??
      (text.replace(begunEndOfHead, '').length > bytesMax ? headersTooLarge : undefined)
    );
  }

  private readLine(line: string): Refusal | undefined {
    const read =
      this.linesRead === 0
        ? readRequestLine(line)
        : this.isFull
          ? headersTooLarge
          : readField(line);
    if (read instanceof Refusal) return read;
    this.linesRead += 1;
    this.bytesRead += line.length + '\r\n'.length;
    return undefined;
  }

  private findFaultOfLast(line: string): Refusal | undefined {
    if (this.linesRead === 0) return unfinishedRequestLine.test(line) ? undefined : notARequestLine;
    if (this.isFull && !/^\r?$/.test(line)) return headersTooLarge;
    return unfinishedFieldLine.test(line) ? undefined : malformedField;
  }

  private get isFull(): boolean {
    return this.linesRead > limits.http.headerFieldsMax;
  }
}

function readRequestLine(
  line: string,
): Pick<RequestHead, 'method' | 'target' | 'version'> | Refusal {
  const [, method, target, major, minor] = requestLine.exec(line) ?? [];
  if (method === undefined || target === undefined) return notARequestLine;
  // The one line of HTTP/0.9.
  if (major === undefined)
    return pathOf(target) === undefined
      ? malformed('its request line has no version')
      : versionUnsupported;
  if (major !== '1' || (minor !== '0' && minor !== '1')) return versionUnsupported;
  return { method, target, version: `${major}.${minor}` };
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

/** Reads a field line of a head or a trailer. The name comes in lower case. */
export function readField(line: string): { name: string; value: string } | Refusal {
  const [, name, value] = fieldLine.exec(line) ?? [];
  if (name === undefined || value === undefined) return malformedField;
  return { name: name.toLowerCase(), value: withoutSpaceAround(value) };
}

/**
 * Without the spaces and tabs at both ends (RFC 9110 §5.6.3). `trim` would take more than these.
 */
function withoutSpaceAround(value: string): string {
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
    return version === '1.1' ? malformed('it has no Host header') : undefined;
  return hosts.length === 1 && validHost.test(hosts[0] as string)
    ? undefined
    : malformed('its Host header is not one valid host');
}

const lengthMax = 2n ** 64n - 1n;

/** RFC 9112 §6.3. Where a length could be read in two ways, it is not read at all. */
function framingFault(fields: Fields, version: string): Refusal | undefined {
  const lengths = fields.get('content-length');
  const codings = fields.get('transfer-encoding');
  if (codings !== undefined) {
    if (lengths !== undefined) return malformed('it has both Content-Length and Transfer-Encoding');
    if (version === '1.1' && codings.length === 1 && codings[0]?.toLowerCase() === 'chunked')
      return undefined;
    return malformed('the service knows no Transfer-Encoding but chunked, and none in HTTP/1.0');
  }
  if (lengths === undefined) return undefined;
  const [length = ''] = lengths;
  const isLength =
    lengths.length === 1 &&
    /^[0-9]+$/.test(length) &&
    (length.length < 16 || BigInt(length) <= lengthMax);
  return isLength ? undefined : malformed('its Content-Length is not one number of bytes');
}

/** Of fields without a fault. */
function framingOf(fields: Fields): RequestHead['framing'] {
  return fields.has('transfer-encoding') ? 'chunked' : Number(fields.get('content-length') ?? 0);
}

/** RFC 9110 §10.1.1. In HTTP/1.0 the field means nothing. */
function expectFault(fields: Fields, version: string): Refusal | undefined {
  const expectations = fields.get('expect');
  if (expectations === undefined || version === '1.0') return undefined;
  return expectations.length === 1 && expectations[0]?.toLowerCase() === '100-continue'
    ? undefined
    : expectationFailed;
}

/** Whether the values of Connection name the option (RFC 9110 §7.6.1). */
function hasOption(options: string | undefined, option: string): boolean {
  if (options === undefined) return false;
  return options.split(',').some((one) => withoutSpaceAround(one).toLowerCase() === option);
}

/** Code 40006. */
export function malformed(why: string): Refusal {
  return new Refusal('httpMalformed', `The request is not well-formed HTTP: ${why}.`);
}

const notARequestLine = malformed('it does not start with a request line');
const malformedField = malformed('a line among its header fields or trailers is none');
export const headersTooLarge = new Refusal(
  'headersTooLarge',
  'The header fields are too large. Send fewer or shorter ones.',
);
const versionUnsupported = new Refusal(
  'versionUnsupported',
  'The service speaks HTTP/1.1 and HTTP/1.0.',
);
const expectationFailed = new Refusal(
  'expectationFailed',
  'The service meets no expectation but 100-continue.',
);
const noTunnels = new Refusal(
  'methodNotAllowed',
  'The service is not a proxy; it takes no CONNECT.',
  'POST',
);
