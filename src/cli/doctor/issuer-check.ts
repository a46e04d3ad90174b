import { askIssuer, IssuerError } from '../../access/jwt/issuer.ts';
import { limits } from '../../limits.ts';
import { error, type Finding, ok, warning } from './check.ts';

/** An identity provider, and its clock. */
export async function issuerFinding(issuer: string): Promise<Finding> {
  try {
    const { keys, clockAheadMs = 0 } = await askIssuer(issuer);
    const found = `${issuer} has ${keys.keys.length} keys`;
    if (keys.keys.length === 0)
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
