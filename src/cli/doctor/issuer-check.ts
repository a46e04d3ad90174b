import { fetchKeys, IssuerError } from '../../access/jwt/issuer.ts';
import { limits } from '../../limits.ts';
import { error, type Finding, ok, warning } from './check.ts';

/** An identity provider, and its clock. */
export async function issuerFinding(issuer: string): Promise<Finding> {
  try {
    const reply = await fetchKeys(issuer, AbortSignal.timeout(limits.jwt.fetchMs));
    const keys = await numberOfKeys(reply);
    const clockAheadMs = clockAhead(reply);
    const found = `${issuer} has ${keys} keys`;
    if (keys === 0)
      return error(found, 'every token is refused until the identity provider has a key');
    const differs = `${Math.abs(Math.round(clockAheadMs / 1_000))} s ${clockAheadMs > 0 ? 'ahead' : 'behind'}`;
    return Math.abs(clockAheadMs) > limits.jwt.clockToleranceMs / 2
      ? warning(`${found}, and its clock is ${differs}`, 'set both clocks by a time server')
      : ok(`${found}, and its clock is right`);
  } catch (cause) {
    if (!(cause instanceof IssuerError)) throw cause;
    return error(
      cause.message,
      'tokens with an unknown key get 503 until the identity provider can be read',
    );
  }
}

async function numberOfKeys(reply: Response): Promise<number> {
  const body = (await reply.json().catch(() => undefined)) as { keys?: unknown } | undefined;
  return Array.isArray(body?.keys) ? body.keys.length : 0;
}

/** To a second; 0 if the reply does not tell. */
function clockAhead({ headers }: Response): number {
  const date = Date.parse(headers.get('date') ?? '');
  return Number.isNaN(date) ? 0 : date - Date.now();
}
