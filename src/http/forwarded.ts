import { type BlockList, isIP } from 'node:net';
import { limits } from '../limits.ts';
import { quotedString, tokenCharacter } from './grammar.ts';
import type { Fields } from './request-head.ts';

/**
 * The address of the client of a request. Each trusted proxy names the address that it got the
 * request from, at the end of `Forwarded` (RFC 7239), or else of `X-Forwarded-For`. The client is
 * the last address that is not a trusted proxy. What stands before it may be made up.
 *
 * @param peer the address at the other end of the connection
 */
export function clientAddress(peer: string, fields: Fields, trusted: BlockList): string {
  let client = peer;
  for (const address of forwardedFor(fields).reverse()) {
    if (!isTrusted(client, trusted) || isIP(address) === 0) break;
    client = address;
  }
  // A copy: a part of a string keeps the whole head of the request in memory.
  return client === peer ? peer : Buffer.from(client, 'latin1').toString('latin1');
}

function isTrusted(address: string, trusted: BlockList): boolean {
  return trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** In the order of the proxies. Empty for a node that is not an address. */
function forwardedFor(fields: Fields): string[] {
  const forwarded = endOf(fields.get('forwarded'));
  if (forwarded !== '') return [...forwarded.matchAll(forwardedElement)].map(nodeOf);
  const addresses = endOf(fields.get('x-forwarded-for')).split(',');
  return addresses.map((text) => withoutPort(text.trim()));
}

/** Proxies add to the end, and a client may have sent a long beginning. */
function endOf(lines: readonly string[] = []): string {
  return lines.join().slice(-limits.http.forwardedChars);
}

/**
 * One element of `Forwarded`, up to the next comma outside of quotes (RFC 7239 §4). A quote
 * without an end takes the rest.
 */
const forwardedElement = /(?:"(?:[^"\\]|\\.)*(?:"|\\?$)|[^,"])+/gs;

const parameter = new RegExp(
  `[ \\t]*(${tokenCharacter}+)=(${tokenCharacter}+|${quotedString})[ \\t]*(?:;|$)`,
  'gy',
);

/**
 * Empty for an element that is malformed: a client may open a quote, which the element of a proxy
 * would close.
 */
function nodeOf([element]: RegExpExecArray): string {
  const parameters = [...element.matchAll(parameter)];
  const length = parameters.reduce((sum, [text]) => sum + text.length, 0);
  const [, , node = ''] = parameters.find(([, name]) => name?.toLowerCase() === 'for') ?? [];
  if (length < element.length) return '';
  return withoutPort(node.startsWith('"') ? node.slice(1, -1) : node);
}

/** `192.0.2.1:80` and `[2001:db8::1]:80` as addresses (RFC 7239 §6). */
function withoutPort(node: string): string {
  return /^\[(.*)\](?::\w*)?$/.exec(node)?.[1] ?? /^([\d.]+)(?::\w*)?$/.exec(node)?.[1] ?? node;
}
