import { randomBytes } from 'node:crypto';
import { type Steps, sql } from './steps.ts';

/** Tells a store from all others. Its backups and copies keep it. */
export interface StoreIdentity {
  /** 128 bits in hex. */
  readonly identity: string;
  /**
   * When an operator has last decided that the store is to hold what it held then, whatever earlier
   * backups hold, in ms since the epoch: with a restore, or with `--new-store yes`.
   */
  readonly decidedAtMs: number | undefined;
  /** The `digest` of the backup whose restore was the decision. */
  readonly restored: string | undefined;
}

export function newIdentity(): string {
  return randomBytes(16).toString('hex');
}

/** For a store of the newest schema: earlier ones have no identity. */
export function* readIdentity(): Steps<StoreIdentity | undefined> {
  const { rows } = yield sql`SELECT identity, decided_at, restored FROM plant_store WHERE id = 1`;
  const [row] = rows;
  if (row === undefined) return undefined;
  return {
    identity: row['identity'] as string,
    decidedAtMs: (row['decided_at'] as number | null) ?? undefined,
    restored: (row['restored'] as string | null) ?? undefined,
  };
}

export const identityChanges = {
  /** Takes the identity of the store that the plants come from. For a store without plants. */
  *takeIdentity(identity: string): Steps<void> {
    yield sql`UPDATE plant_store SET identity = ${identity} WHERE id = 1`;
  },

  /** @param restored the `digest` of the restored backup */
  *noteDecision(atMs: number, restored?: string): Steps<void> {
    yield sql`UPDATE plant_store SET decided_at = ${atMs}, restored = ${restored} WHERE id = 1`;
  },
};
