import type { JSONWebKeySet } from 'jose';
import { isSafeUrl } from '../../hosts.ts';
import { limits } from '../../limits.ts';
import { sizeText } from '../../quantity-text.ts';

/** An issuer cannot be asked, or answers wrongly. The message says what, for an operator. */
export class IssuerError extends Error {
  override readonly name = 'IssuerError';
}

/** OpenID Connect Discovery 1.0 §4, or RFC 8414 §3, then RFC 7517 §5. @throws IssuerError */
export async function fetchKeys(issuer: string): Promise<JSONWebKeySet> {
  const signal = AbortSignal.timeout(limits.jwt.fetchMs);
  const metadata = await readMetadata(issuer, signal);
  if (metadata['issuer'] !== issuer)
    throw new IssuerError(
      `${issuer} calls itself ${JSON.stringify(metadata['issuer'])} in its metadata; ` +
        'the two must be the same to the letter',
    );
  const url = URL.parse(String(metadata['jwks_uri']));
  if (url === null || !isSafeUrl(url))
    throw new IssuerError(`the jwks_uri of ${issuer} is no URL that starts with https://`);
  const { keys } = objectIn(await get(url, signal));
  if (!Array.isArray(keys)) throw new IssuerError(`${url} holds no JSON Web Key Set`);
  return { keys };
}

type JsonObject = Readonly<Record<string, unknown>>;

/** Most issuers have the first address. An issuer of OAuth alone has only the second. */
async function readMetadata(issuer: string, signal: AbortSignal): Promise<JsonObject> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  const found = await get(new URL(`${origin}${path}/.well-known/openid-configuration`), signal);
  if (found.status !== 404) return objectIn(found);
  const other = new URL(`${origin}/.well-known/oauth-authorization-server${path}`);
  return objectIn(await get(other, signal));
}

interface Reply {
  readonly url: URL;
  readonly status: number;
  readonly text: string;
}

/** Follows no redirection: the other address could be one that is not encrypted. */
async function get(url: URL, signal: AbortSignal): Promise<Reply> {
  try {
    const headers = { Accept: 'application/json' };
    const { status, body } = await fetch(url, { headers, redirect: 'error', signal });
    return { url, status, text: await readText(body) };
  } catch (cause) {
    throw new IssuerError(`cannot read ${url} (${reasonOf(cause)})`, { cause });
  }
}

/** @throws an error for more than `limits.jwt.fetchBytesMax` */
async function readText(body: ReadableStream<Uint8Array> | null): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > limits.jwt.fetchBytesMax)
      throw new Error(`more than ${sizeText(limits.jwt.fetchBytesMax)}`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function objectIn({ url, status, text }: Reply): JsonObject {
  if (status !== 200) throw new IssuerError(`${url} answers with the status ${status}`);
  try {
    return Object(JSON.parse(text));
  } catch (cause) {
    throw new IssuerError(`${url} holds no JSON (${(cause as Error).message})`, { cause });
  }
}

/** `fetch` hides the reason in the cause. */
function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: NodeJS.ErrnoException };
  if (name === 'TimeoutError') return `no reply within ${limits.jwt.fetchMs / 1_000} s`;
  return cause ? cause.message || `${cause.code}` : message;
}
