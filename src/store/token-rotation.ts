import type { NewToken, RefusedRotation, TokenRecord, TokenRotation } from './tokens.ts';

/** Changes that give a token a new secret. */
export interface RotationPlan {
  readonly token: NewToken;
  /** The secret that stays in force for the grace. */
  readonly rotated: { readonly id: number; readonly untilMs: number } | undefined;
  /** Ids of the secrets that end at once. */
  readonly revoked: readonly number[];
}

/**
 * A token has two secrets in force at most. A second rotation within the grace of the first is
 * refused, because it would end a secret that was promised to be in force, unless it has no grace:
 * then all earlier secrets end.
 *
 * @param named all records of the name that are not revoked
 * @param live number of live tokens in the store
 */
export function planRotation(
  named: readonly TokenRecord[],
  live: number,
  { hash, atMs, graceMs, validMs, by }: TokenRotation,
  liveMax: number,
): RotationPlan | RefusedRotation {
  const current = named.find(({ rotatedAtMs }) => rotatedAtMs === undefined);
  if (current === undefined) return 'unknown';
  const { id, name, role, rate, createdAtMs, expiresAtMs } = current;
  const inForce = named.filter(({ expiresAtMs: endMs = Infinity }) => endMs > atMs);
  const earlier = inForce.filter((token) => token !== current);
  const [previous] = earlier;
  const keepsOld = graceMs > 0;
  if (keepsOld && previous !== undefined) return { inForceUntilMs: previous.expiresAtMs ?? atMs };
  if (live - (keepsOld ? 0 : inForce.length) >= liveMax) return 'too many';

  const lifeMs = validMs ?? (expiresAtMs === undefined ? undefined : expiresAtMs - createdAtMs);
  const endMs = lifeMs === undefined ? undefined : atMs + lifeMs;
  const token = { name, hash, role, rate, createdAtMs: atMs, expiresAtMs: endMs, createdBy: by };
  if (!keepsOld)
    return { token, rotated: undefined, revoked: [id, ...earlier.map(({ id }) => id)] };
  const untilMs = Math.min(atMs + graceMs, expiresAtMs ?? Infinity);
  return { token, rotated: { id, untilMs }, revoked: [] };
}
