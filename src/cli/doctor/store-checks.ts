import { limits } from '../../limits.ts';
import type { BackupRecord } from '../../store/backups.ts';
import { type Finding, ok, warning } from './check.ts';

/** The least and the greatest id, whose plants have been read. */
export interface FirstAndLast {
  readonly firstId: bigint | undefined;
  readonly lastId: bigint | undefined;
}

export function plants({ firstId, lastId }: FirstAndLast): Finding {
  if (firstId === undefined) return ok('there are none');
  return ok(
    `the first (${firstId}) and the last (${lastId}) can be read; "plant-store verify" reads all`,
  );
}

/** @param remedy how to make one */
export function lastBackup(
  found: BackupRecord | undefined,
  nowMs: number,
  remedy: string,
): Finding {
  if (found === undefined) return warning('there is none that the store knows of', remedy);
  const { file: path, finishedAtMs, plants: count } = found;
  const figure = `${new Date(finishedAtMs).toISOString()}, ${count} plants, at ${path}`;
  return nowMs - finishedAtMs > limits.cli.backupAgeMs
    ? warning(`${figure}: it is old`, remedy)
    : ok(figure);
}
