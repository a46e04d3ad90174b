import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import { tokenCharacter } from './grammar.ts';

export interface ParserError extends NodeJS.ErrnoException {
  /** What was received last, and how far the parser came in it. */
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
  readonly reason?: string;
}

/**
 * What to answer where Node's HTTP parser has given up (codes 40006, 40500, 40800, 43100, 50500), or undefined
 * where the connection itself is lost.
 */
export function parserRefusal(error: ParserError): Refusal | undefined {
  switch (error.code) {
    case 'ECONNRESET':
    case 'EPIPE':
      return undefined;
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Refusal('requestTimeout', 'The request took too long to arrive. Nothing was stored; send it again.');
    case 'HPE_HEADER_OVERFLOW':
      return new Refusal('headersTooLarge', 'The header fields are too large. Send fewer or shorter ones.');
    case 'HPE_PAUSED_H2_UPGRADE':
      return new Refusal('versionUnsupported', 'The service speaks HTTP/1.1 and HTTP/1.0, not HTTP/2.');
    case 'HPE_INVALID_VERSION':
      // The parser uses the same code for a line that does not end as it should.
      if (error.reason !== 'Invalid HTTP version') break;
      return new Refusal('versionUnsupported', 'The service speaks HTTP/1.1 and HTTP/1.0.');
    case 'HPE_INVALID_CONSTANT':
      // It knows methods of RTSP, too, and that they are none of HTTP.
      if (error.reason === 'Invalid method for HTTP/x.x request') return unknownMethod;
      break;
  }
  return new Refusal('httpMalformed', `The request is not well-formed HTTP: ${error.reason ?? 'it cannot be read'}.`);
}

const unknownMethod = new Refusal('methodNotAllowed', 'The method is not known here; plants are created with POST.', 'POST');

export const noRequestLine = new Refusal('httpMalformed', 'The request is not well-formed HTTP: it does not start with a request line.');

/** Whether the parser has given up within a method, before it has seen the rest of the line. */
export function isUnknownMethod(error: ParserError): boolean {
  return error.code === 'HPE_INVALID_METHOD';
}

/** What has come of the line, from the byte on at which the parser gave up. `before`: what had come of it with the last error. */
export function lineOfUnknownMethod({ rawPacket = Buffer.alloc(0), bytesParsed = 0 }: ParserError, before: string | undefined): string {
  const line = (before ?? '') + rawPacket.toString('latin1', before === undefined ? bytesParsed : 0);
  return line.slice(0, limits.headerBytesMax);
}

/** The rest of a method, which may be any token (RFC 9110 §9.1), and of its request line. */
const wellFormed = new RegExp(`^${tokenCharacter}* [^\\s]+ HTTP/1\\.[01]\\r\\n`);
/** What may become that with more bytes. */
const unfinished = new RegExp(`^${tokenCharacter}*(?: (?:[^\\s]+(?: [^\\s]*\\r?)?)?)?$`);

/** What to answer to a request line with a method that the parser does not know (codes 40006, 40500). */
export function methodRefusal(line: string): Refusal | 'unfinished' {
  if (wellFormed.test(line)) return unknownMethod;
  if (unfinished.test(line) && line.length < limits.headerBytesMax) return 'unfinished';
  return noRequestLine;
}
