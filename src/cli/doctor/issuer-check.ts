import { fetchKeys, IssuerError } from '../../access/jwt/issuer.ts';
import { limits } from '../../limits.ts';
import { error, type Finding, ok } from './check.ts';

/** Whether an identity provider can be read, and has keys. */
export async function issuerFinding(issuer: string): Promise<Finding> {
  try {
    const reply = await fetchKeys(issuer, AbortSignal.timeout(limits.jwt.fetchMs));
    const body = (await reply.json().catch(() => undefined)) as { keys?: unknown } | undefined;
    const keys = Array.isArray(body?.keys) ? body.keys.length : 0;
    const found = `${issuer} has ${keys} keys`;
    return keys > 0
      ? ok(found)
      : error(found, 'every token is refused until the identity provider has a key');
  } catch (cause) {
    if (!(cause instanceof IssuerError)) throw cause;
    const remedy = 'tokens with an unknown key get 503 until the identity provider can be read';
    return error(cause.message, remedy);
  }
}
