import { isSafeUrl } from '../../hosts.ts';
import { limits } from '../../limits.ts';
import { sizeText } from '../../quantity-text.ts';

/** An issuer cannot be asked, or answers wrongly. The message says what, for an operator. */
export class IssuerError extends Error {
  override readonly name = 'IssuerError';
}

/**
 * Reads the metadata of an issuer (OpenID Connect Discovery 1.0 §4, or RFC 8414 §3), and then its
 * keys (RFC 7517 §5).
 *
 * @returns the reply with the keys, whose body is not read
 * @throws IssuerError
 */
export async function fetchKeys(issuer: string, signal: AbortSignal): Promise<Response> {
  const metadata = await readMetadata(issuer, signal);
  if (metadata['issuer'] !== issuer)
    throw new IssuerError(
      `${issuer} calls itself ${JSON.stringify(metadata['issuer'])} in its metadata; ` +
        'the two must be the same to the letter',
    );
  const url = URL.parse(String(metadata['jwks_uri']));
  if (url === null || !isSafeUrl(url))
    throw new IssuerError(`the jwks_uri of ${issuer} is no URL that starts with https://`);
  return demandOk(await get(url, signal), url);
}

type Metadata = Readonly<Record<string, unknown>>;

/** Most issuers have the first address. An issuer of OAuth alone has only the second. */
async function readMetadata(issuer: string, signal: AbortSignal): Promise<Metadata> {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, '');
  let url = new URL(`${origin}${path}/.well-known/openid-configuration`);
  let reply = await get(url, signal);
  if (reply.status === 404) {
    url = new URL(`${origin}/.well-known/oauth-authorization-server${path}`);
    reply = await get(url, signal);
  }
  const body = (await demandOk(reply, url)
    .json()
    .catch((cause) => {
      throw new IssuerError(`${url} holds no JSON (${cause.message})`, { cause });
    })) as Metadata | null;
  if (body === null) throw new IssuerError(`${url} holds no JSON object`);
  return body;
}

/** Follows no redirection: the other address could be one that is not encrypted. */
async function get(url: URL, signal: AbortSignal): Promise<Response> {
  try {
    const headers = { Accept: 'application/json' };
    return await readWhole(await fetch(url, { headers, redirect: 'error', signal }));
  } catch (cause) {
    throw new IssuerError(`cannot read ${url} (${reasonOf(cause)})`, { cause });
  }
}

/** @throws an error for more than `limits.jwt.fetchBytesMax` */
async function readWhole({ body, status, headers }: Response): Promise<Response> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    if (bytes > limits.jwt.fetchBytesMax)
      throw new Error(`more than ${sizeText(limits.jwt.fetchBytesMax)}`);
    chunks.push(chunk);
  }
  return new Response(bytes === 0 ? null : Buffer.concat(chunks), { status, headers });
}

function demandOk(reply: Response, url: URL): Response {
  if (reply.status === 200) return reply;
  throw new IssuerError(`${url} answers with the status ${reply.status}`);
}

/** `fetch` hides the reason in the cause. */
function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: NodeJS.ErrnoException };
  if (name === 'TimeoutError') return `no reply within ${limits.jwt.fetchMs / 1_000} s`;
  return cause ? cause.message || `${cause.code}` : message;
}
