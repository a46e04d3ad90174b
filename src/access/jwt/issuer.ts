import type { JSONWebKeySet } from 'jose';
import { limits } from '../../limits.ts';
import { boundedFetch } from '../bounded-fetch.ts';
import { isSafeUrl } from './safe-url.ts';

/** An issuer cannot be asked, or answers wrongly. The message says what, for an operator. */
export class IssuerError extends Error {
  override readonly name = 'IssuerError';
}

export interface IssuerReply {
  readonly keys: JSONWebKeySet;
  /** How far the clock of the issuer is ahead, to a second; undefined if it does not tell. */
  readonly clockAheadMs: number | undefined;
}

/**
 * Reads the metadata of an issuer (OpenID Connect Discovery 1.0 §4, or RFC 8414 §3), and then its
 * keys (RFC 7517 §5).
 *
 * @throws IssuerError
 */
export async function askIssuer(issuer: string): Promise<IssuerReply> {
  const metadata = await readMetadata(issuer);
  if (metadata['issuer'] !== issuer)
    throw new IssuerError(
      `${issuer} calls itself ${JSON.stringify(metadata['issuer'])} in its metadata; the two must be the same to the letter`,
    );
  const url = URL.parse(String(metadata['jwks_uri']));
  if (url === null || !isSafeUrl(url))
    throw new IssuerError(`the jwks_uri of ${issuer} is no URL that starts with https://`);
  const { body, clockAheadMs } = await getJson(url);
  const { keys } = body as { keys?: unknown };
  if (!Array.isArray(keys) || !keys.every((key) => typeof key === 'object' && key !== null))
    throw new IssuerError(`${url} holds no set of keys`);
  if (keys.length > limits.jwt.keysMax)
    throw new IssuerError(`${url} holds more than ${limits.jwt.keysMax} keys`);
  return { keys: { keys }, clockAheadMs };
}

/** Most issuers have the first address. An issuer of OAuth alone has only the second. */
async function readMetadata(issuer: string): Promise<Record<string, unknown>> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const addresses = [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
  const [first, second] = addresses.map((address) => new URL(address)) as [URL, URL];
  const { body } = await getJson(first).catch((error) => {
    if (error instanceof NotFound) return getJson(second);
    throw error;
  });
  return body as Record<string, unknown>;
}

class NotFound extends IssuerError {}

interface JsonReply {
  /** An object or an array. */
  readonly body: unknown;
  readonly clockAheadMs: number | undefined;
}

async function getJson(url: URL): Promise<JsonReply> {
  try {
    const response = await boundedFetch(url, {
      headers: { Accept: 'application/json' },
      // Another address could be one that is not encrypted.
      redirect: 'error',
      signal: AbortSignal.timeout(limits.jwt.fetchMs),
    });
    if (response.status !== 200) {
      const says = `${url} answers with the status ${response.status}`;
      throw response.status === 404 ? new NotFound(says) : new IssuerError(says);
    }
    const clockAheadMs = clockOf(response);
    const body: unknown = await response.json();
    if (typeof body !== 'object' || body === null)
      throw new IssuerError(`${url} holds no JSON object`);
    return { body, clockAheadMs };
  } catch (error) {
    if (error instanceof IssuerError) throw error;
    throw new IssuerError(`cannot read ${url} (${reasonOf(error)})`, { cause: error });
  }
}

function clockOf(response: Response): number | undefined {
  const date = Date.parse(response.headers.get('date') ?? '');
  return Number.isNaN(date) ? undefined : date - Date.now();
}

/** `fetch` hides the reason in the cause. */
function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error;
  if (name === 'TimeoutError') return `no reply within ${limits.jwt.fetchMs / 1_000} s`;
  return cause instanceof Error
    ? cause.message || String((cause as { code?: unknown }).code)
    : message;
}
