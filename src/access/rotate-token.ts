import { excerpt } from '../contract/excerpt.ts';
import { limits } from '../limits.ts';
import type { NewToken, TokenWriter } from '../store/tokens.ts';
import { generateToken, hashToken } from './opaque-tokens.ts';

export interface RotationWish {
  readonly name: string;
  /** As in `TokenRotation`. */
  readonly graceMs: number;
  readonly validMs: number | undefined;
  readonly by?: string;
}

export interface IssuedSecret extends Pick<NewToken, 'role' | 'expiresAtMs' | 'rate'> {
  /** The new secret. It is not stored. */
  readonly token: string;
  /** The secret before stays in force until then; undefined: it has ended. */
  readonly previousUntilMs: number | undefined;
}

export interface RotationRefusal {
  readonly refusal: 'unknown' | 'too many' | 'in rotation';
  /** Words for the operator. */
  readonly message: string;
}

/**
 * Gives a token a new secret, which every running service admits at once. The secret before stays in
 * force for the grace.
 *
 * @throws StoreError
 */
export async function rotateToken(
  store: TokenWriter,
  { name, graceMs, validMs, by }: RotationWish,
  nowMs: number,
): Promise<IssuedSecret | RotationRefusal> {
  const token = generateToken();
  const { liveTokensMax } = limits.access;
  const outcome = await store.rotateToken(
    { name, hash: hashToken(token), atMs: nowMs, graceMs, validMs, by },
    liveTokensMax,
  );
  if (outcome === 'unknown') {
    const message = `there is no token named ${excerpt(name)} that could be rotated`;
    return { refusal: outcome, message };
  }
  if (outcome === 'too many') {
    const message = `there are ${liveTokensMax} tokens already; revoke one that is no longer needed, or rotate with a grace of 0`;
    return { refusal: outcome, message };
  }
  if ('inForceUntilMs' in outcome) {
    const until = new Date(outcome.inForceUntilMs).toISOString();
    const message = `the token ${excerpt(name)} has two secrets in force: the secret before the last rotation ends at ${until}; rotate again after that time, or with a grace of 0, which ends both secrets at once`;
    return { refusal: 'in rotation', message };
  }
  const { role, expiresAtMs, rate } = outcome.token;
  const { previousUntilMs = 0 } = outcome;
  // The secret before may have expired by itself.
  const isInForce = previousUntilMs > nowMs;
  return {
    token,
    role,
    expiresAtMs,
    rate,
    previousUntilMs: isInForce ? previousUntilMs : undefined,
  };
}
