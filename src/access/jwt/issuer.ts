import { limits } from '../../limits.ts';
import { boundedFetch } from '../bounded-fetch.ts';
import { isSafeUrl } from './safe-url.ts';

/** An issuer cannot be asked, or answers wrongly. The message says what, for an operator. */
export class IssuerError extends Error {
  override readonly name = 'IssuerError';
}

/**
 * Reads the metadata of an issuer (OpenID Connect Discovery 1.0 §4, or RFC 8414 §3), and then its
 * keys (RFC 7517 §5).
 *
 * @returns the reply with the keys, whose body nobody has looked at
 * @throws IssuerError
 */
export async function fetchKeys(issuer: string, signal: AbortSignal): Promise<Response> {
  const metadata = await readMetadata(issuer, signal);
  if (metadata['issuer'] !== issuer)
    throw new IssuerError(
      `${issuer} calls itself ${JSON.stringify(metadata['issuer'])} in its metadata; the two must be the same to the letter`,
    );
  const url = URL.parse(String(metadata['jwks_uri']));
  if (url === null || !isSafeUrl(url))
    throw new IssuerError(`the jwks_uri of ${issuer} is no URL that starts with https://`);
  return demandOk(await get(url, signal), url);
}

/** Most issuers have the first address. An issuer of OAuth alone has only the second. */
async function readMetadata(issuer: string, signal: AbortSignal): Promise<Record<string, unknown>> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const first = new URL(`${origin}${path}/.well-known/openid-configuration`);
  const second = new URL(`${origin}/.well-known/oauth-authorization-server${path}`);
  const reply = await get(first, signal);
  if (reply.status === 404) return members(await get(second, signal), second);
  return members(reply, first);
}

async function members(reply: Response, url: URL): Promise<Record<string, unknown>> {
  const body: unknown = await demandOk(reply, url)
    .json()
    .catch((cause) => {
      throw new IssuerError(`${url} holds no JSON (${cause.message})`, { cause });
    });
  if (typeof body === 'object' && body !== null) return body as Record<string, unknown>;
  throw new IssuerError(`${url} holds no JSON object`);
}

async function get(url: URL, signal: AbortSignal): Promise<Response> {
  // Another address could be one that is not encrypted.
  const options = { headers: { Accept: 'application/json' }, redirect: 'error', signal } as const;
  try {
    return await boundedFetch(url, options);
  } catch (cause) {
    throw new IssuerError(`cannot read ${url} (${reasonOf(cause)})`, { cause });
  }
}

function demandOk(reply: Response, url: URL): Response {
  if (reply.status === 200) return reply;
  throw new IssuerError(`${url} answers with the status ${reply.status}`);
}

/** `fetch` hides the reason in the cause. */
function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error;
  if (name === 'TimeoutError') return `no reply within ${limits.jwt.fetchMs / 1_000} s`;
  return cause instanceof Error
    ? cause.message || String((cause as { code?: unknown }).code)
    : message;
}
