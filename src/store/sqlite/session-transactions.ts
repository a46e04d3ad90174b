import { isSessionInForce, type NewSession } from '../sessions.ts';
import { isLive } from './token-rows.ts';
import { touchTokenSql } from './token-transactions.ts';
import type { TransactionBase } from './transaction-base.ts';

export function sessionTransactions({ prepare, transact }: TransactionBase) {
  const removeEnded = prepare(
    `DELETE FROM sessions WHERE NOT ${isSessionInForce('?1')} OR token_id NOT IN (SELECT id FROM tokens WHERE ${isLive})`,
  );
  const removeOldest = prepare(
    `DELETE FROM sessions WHERE hash IN (
      SELECT hash FROM sessions WHERE token_id = ? ORDER BY expires_at DESC LIMIT -1 OFFSET ?
    )`,
  );
  const insert = prepare('INSERT INTO sessions (hash, token_id, expires_at) VALUES (?, ?, ?)');
  const remove = prepare('DELETE FROM sessions WHERE hash = ?');
  const removeOf = prepare('DELETE FROM sessions WHERE token_id = ?');
  const touchToken = prepare(touchTokenSql);
  return {
    createSession({ session, perTokenMax }: { session: NewSession; perTokenMax: number }): void {
      const { hash, tokenId, createdAtMs, expiresAtMs } = session;
      transact(() => {
        removeEnded.run(createdAtMs);
        removeOldest.run(tokenId, perTokenMax - 1);
        insert.run(hash, tokenId, expiresAtMs);
        touchToken.run(createdAtMs, tokenId);
      });
    },
    removeSession: (hash: Uint8Array): boolean => transact(() => remove.run(hash).changes === 1n),
    removeSessionsOf(tokenId: number): void {
      transact(() => void removeOf.run(tokenId));
    },
  };
}
