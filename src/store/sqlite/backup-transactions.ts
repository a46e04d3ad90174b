import { limits } from '../../limits.ts';
import type { BackupRecord } from '../backups.ts';
import type { TransactionBase } from './transaction-base.ts';

export function backupTransactions({ prepare, transact }: TransactionBase) {
  const insert = prepare(
    'INSERT INTO backups (file, finished_at, plants, digest) VALUES (?, ?, ?, ?)',
  );
  const forget = prepare('DELETE FROM backups WHERE id <= ?');
  return {
    recordBackup({ file, finishedAtMs, plants, digest }: BackupRecord): void {
      transact(() => {
        const { lastInsertRowid } = insert.run(file, finishedAtMs, plants, digest);
        forget.run(Number(lastInsertRowid) - limits.store.backupsRecorded);
      });
    },
  };
}
