import { Refusal } from '../contract/problems.ts';

interface ParserError extends NodeJS.ErrnoException {
  /** What was received last, and how far the parser came in it. */
  readonly rawPacket?: Buffer;
  readonly bytesParsed?: number;
  readonly reason?: string;
}

/** A request line with a method that the parser does not know (RFC 9110 §9.1: any token is a method). */
const wellFormedRequestLine = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+ [^ ]+ HTTP\/1\.[01]\r\n/;

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
    case 'HPE_INVALID_METHOD':
      if (!wellFormedRequestLine.test(failedLine(error))) break;
      return new Refusal('methodNotAllowed', 'The method is not known here; plants are created with POST.', 'POST');
  }
  return new Refusal('httpMalformed', `The request is not well-formed HTTP: ${error.reason ?? 'it cannot be read'}.`);
}

/** No method that the parser knows is longer, so it stops earlier in one that it does not know. */
const methodCharsMax = 32;
const methodEnding = /[!#$%&'*+\-.^_`|~0-9A-Za-z]*$/;

/** The text from the start of the word in which the parser stopped. No line end need come before it: it may follow a body. */
function failedLine({ rawPacket = Buffer.alloc(0), bytesParsed = 0 }: ParserError): string {
  const before = rawPacket.subarray(Math.max(0, bytesParsed - methodCharsMax), bytesParsed).toString('latin1');
  const start = bytesParsed - (methodEnding.exec(before)?.[0].length ?? 0);
  return rawPacket.subarray(start, start + 8_192).toString('latin1');
}
