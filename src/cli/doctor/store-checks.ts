import { limits } from '../../limits.ts';
import type { BackupRecord } from '../../store/backups.ts';
import { type Finding, ok, warning } from './check.ts';

export interface FirstAndLast {
  readonly firstId: bigint | undefined;
  readonly lastId: bigint | undefined;
}

export function plants({ firstId, lastId }: FirstAndLast): Finding {
  if (firstId === undefined) return ok('the store has no plants');
  return ok(
    `the first (${firstId}) and the last (${lastId}) can be read; "plant-store verify" reads all`,
  );
}

/** @param remedy how to make a backup */
export function lastBackup(
  found: BackupRecord | undefined,
  nowMs: number,
  remedy: string,
): Finding {
  if (found === undefined) return warning('the store knows of no backup', remedy);
  const { file: path, finishedAtMs, plants: count } = found;
  const figure = `${new Date(finishedAtMs).toISOString()}, ${count} plants, at ${path}`;
  return nowMs - finishedAtMs > limits.cli.backupAgeMs
    ? warning(`${figure}: this backup is old`, remedy)
    : ok(figure);
}
