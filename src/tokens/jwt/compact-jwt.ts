import { isUtf8 } from 'node:buffer';
import { type JsonValue, readJson } from '../../contract/json.ts';

type Members = Readonly<Record<string, unknown>>;

/** Nothing of it has been verified. */
export interface Jwt {
  readonly header: Members;
  readonly claims: Members;
}

/** The form of a signed JWT (RFC 7515 §7.1), also padded. No token of the store has dots. */
export function isJwt(token: string): boolean {
  return /^[\w-]+\.[\w-]+\.[\w-]*=*$/.test(token);
}

const partNames = ['header', 'payload', 'signature'];

/**
 * Takes apart a token that satisfies `isJwt`, if there is one way to read and to spell it.
 *
 * @returns the end of "the token is refused: " for any other token
 */
export function readJwt(token: string): Jwt | string {
  const texts = token.split('.');
  const parts = texts.map((text) => Buffer.from(text, 'base64url'));
  const odd = parts.findIndex((bytes, index) => bytes.toString('base64url') !== texts[index]);
  // The bits that the last character leaves unused would give a signature 16 spellings.
  if (odd >= 0)
    return `its ${partNames[odd]} is not base64url without padding and unused bits (RFC 7515 §2)`;
  const [header = '', claims = ''] = parts.map(membersIn);
  if (typeof header === 'string') return `its header ${header}`;
  if (typeof claims === 'string') return `its payload ${claims}`;
  return { header, claims };
}

/** By the reader of bodies: `JSON.parse` takes the last of two members with one name. */
function membersIn(bytes: Buffer): Members | string {
  if (!isUtf8(bytes)) return 'is not UTF-8';
  const json = readJson(bytes.toString('utf8'));
  if (typeof json === 'string') return `is not JSON: ${json}`;
  if (json.type !== 'object') return 'is not a JSON object';
  return Object.fromEntries(json.members.entries().map(([name, value]) => [name, claimOf(value)]));
}

/** No rule looks into an object, or for a boolean. */
function claimOf(value: JsonValue): unknown {
  if (value.type === 'string') return value.value;
  if (value.type === 'number') return Number(value.literal);
  return value.type === 'array' ? JSON.parse(value.text) : null;
}
