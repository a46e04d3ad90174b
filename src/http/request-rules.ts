import type { IncomingMessage } from 'node:http';
import { Refusal } from '../contract/problems.ts';
import type { Exchange } from './exchange.ts';
import { validHost } from './grammar.ts';

/** What Node's parser lets through and RFC 9112 does not. */
export function malformed(request: IncomingMessage): Refusal | undefined {
  const { httpVersion, headers } = request;
  if (httpVersion !== '1.1' && httpVersion !== '1.0') return new Refusal('versionUnsupported', 'The service speaks HTTP/1.1 and HTTP/1.0.');
  // RFC 9112 §3.2. Two Host lines have been joined with a comma and a space, and no host has a space in it.
  if (headers.host === undefined && httpVersion === '1.1') return new Refusal('httpMalformed', 'The request has no Host header.');
  if (headers.host !== undefined && !validHost.test(headers.host))
    return new Refusal('httpMalformed', 'The Host header is not one valid host.');
  // RFC 9112 §6.1. The parser takes any codings before `chunked`, and would hand over a body that is still encoded.
  const codings = headers['transfer-encoding'];
  if (codings !== undefined && (httpVersion === '1.0' || codings.toLowerCase() !== 'chunked')) {
    return new Refusal('httpMalformed', 'The service knows no Transfer-Encoding but chunked, and none in HTTP/1.0.');
  }
  return undefined;
}

/** Whether the reply has to be the last on its connection, though the parser would go on after it. */
export function endsConnection({ httpVersion, headers }: IncomingMessage): boolean {
  // Behind a request that asks for another protocol, the parser skips the rest of the packet, which may be half of a request.
  if (headers.upgrade !== undefined) return true;
  // RFC 9112 §9.3: `close` counts more than `keep-alive`. The parser has it the other way round in HTTP/1.0.
  return httpVersion === '1.0' && closeOption.test(headers.connection ?? '');
}

const closeOption = /(?:^|[\t ,])close(?:$|[\t ,])/i;

/** An `Expect` that holds anything but 100-continue (RFC 9110 §10.1.1). Node takes one that holds it among others for it. */
export function unmet({ request, expectsContinue }: Exchange): Refusal | undefined {
  return expectsContinue && request.headers.expect?.toLowerCase() !== '100-continue' ? expectationFailed : undefined;
}

const expectationFailed = new Refusal('expectationFailed', 'The service meets no expectation but 100-continue.');
