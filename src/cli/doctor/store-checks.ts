import { expiresSoon } from '../../access/opaque-tokens.ts';
import { isAbsent } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import type { BackupRecord } from '../../store/backups.ts';
import type { JobRecord } from '../../store/jobs.ts';
import type { StoreLocation } from '../../store/location.ts';
import type { TokenRecord } from '../../store/tokens.ts';
import { commandFor } from '../../stores.ts';
import { plantsText } from '../terminal/progress.ts';
import { type Finding, ok, warning } from './check.ts';

export interface FirstAndLast {
  readonly firstId: bigint | undefined;
  readonly lastId: bigint | undefined;
}

export function plants({ firstId, lastId }: FirstAndLast, location: StoreLocation): Finding {
  if (firstId === undefined) return ok('the store has no plants');
  return ok(
    `the first (${firstId}) and the last (${lastId}) can be read; ${commandFor(location, 'verify')} reads all`,
  );
}

/**
 * Of a store that has plants.
 *
 * @param remedy how to make a backup
 * @param newestFirst one whose file is gone stands for none of the others
 * @param mayBeElsewhere whether another machine may have made them, and has the files
 */
export function lastBackup(
  newestFirst: readonly BackupRecord[],
  nowMs: number,
  remedy: string,
  mayBeElsewhere: boolean,
): Finding {
  const [newest] = newestFirst;
  if (newest === undefined) return warning('the store knows of no backup', remedy);
  const there = mayBeElsewhere ? newest : newestFirst.find(({ file }) => !isAbsent(file));
  const found = there ?? newest;
  const { file: path, finishedAtMs, plants: count } = found;
  const made = `${new Date(finishedAtMs).toISOString()}, ${plantsText(count)}, at ${path}`;
  if (there === undefined) return warning(`${made}: the file is no longer there`, remedy);
  const isElsewhere = mayBeElsewhere && isAbsent(path);
  const figure = isElsewhere ? `${made}, which is not on this machine` : made;
  if (count === 0) return warning(`${figure}: the backup lacks all plants of the store`, remedy);
  return nowMs - finishedAtMs > limits.cli.backupAgeMs
    ? warning(`${figure}: this backup is old`, remedy)
    : ok(figure);
}

/** Backups, scrubs and drills at regular times. */
export function jobs(records: readonly JobRecord[], nowMs: number): Finding | undefined {
  if (records.length === 0) return undefined;
  const failed = records.find(({ fault }) => fault !== undefined);
  if (failed !== undefined) {
    const at = new Date(failed.ranAtMs).toISOString();
    return warning(`the last ${failed.name} (${at}) has failed: ${failed.fault}`, 'run it by hand');
  }
  const successes = records.flatMap(({ name, success }) => (success ? [{ name, ...success }] : []));
  const figure = successes
    .map(({ name, atMs }) => `${name} ${new Date(atMs).toISOString()}`)
    .join(', ');
  const old = successes.find(({ atMs }) => nowMs - atMs > limits.cli.jobAgeMs);
  if (old === undefined) return ok(figure);
  return warning(
    `${figure}: the ${old.name} is old`,
    'look for its timer, or into the log of the service',
  );
}

/** Warns of tokens whose clients will soon be refused. @param live see `TokenReader.liveTokens` */
export function tokens(
  live: readonly TokenRecord[],
  nowMs: number,
  location: StoreLocation,
): Finding {
  const { tokenExpiresSoonMs } = limits.access;
  const ending = live.filter((token) => expiresSoon(token, nowMs));
  const isInUse = ({ lastUsedAtMs = 0 }: TokenRecord) =>
    nowMs - lastUsedAtMs <= limits.cli.tokenUsedMs;
  const inUse = ending.filter(isInUse);
  const days = tokenExpiresSoonMs / 86_400_000;
  const figure = `${live.length === 0 ? 'none' : live.length} in force`;
  if (inUse.length === 0) {
    const unused = ending.length === 0 ? '' : `; not in use: ${named(ending)}`;
    return ok(`${figure}; none that is in use expires within ${days} days${unused}`);
  }
  return warning(
    `${figure}, and tokens that are in use expire: ${named(inUse)}`,
    `give their clients new secrets with ${commandFor(location, 'token rotate NAME')}`,
  );
}

function named(ending: readonly TokenRecord[]): string {
  const shown = ending
    .slice(0, limits.cli.tokensNamed)
    .map(({ name, expiresAtMs, rotatedAtMs }) => {
      const which = rotatedAtMs === undefined ? name : `${name} (old secret)`;
      return `${which} at ${new Date(Number(expiresAtMs)).toISOString()}`;
    });
  const more = ending.length > shown.length ? `, and ${ending.length - shown.length} more` : '';
  return shown.join(', ') + more;
}
