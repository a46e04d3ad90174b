import { compactTime } from '../../disk/compact-time.ts';

/**
 * The name of a backup in a folder: `plants-20261122T001500Z.db`. An increment also names its full
 * backup, by the time: `plants-20261122T011500Z.since-20261122T001500Z.db`.
 */
export interface BackupName {
  /** The first part of the name. */
  readonly store: string;
  readonly at: Date;
  /** When the full backup was made; undefined for a full backup. */
  readonly since?: Date | undefined;
}

export function formatBackupName({ store, at, since }: BackupName): string {
  const origin = since === undefined ? '' : `.since-${compactTime(since)}`;
  return `${store}-${compactTime(at)}${origin}.db`;
}

/** @returns undefined for any other name */
export function parseBackupName(file: string): BackupName | undefined {
  const [, store, at, since] =
    /^(.+?)-([0-9TZ]{16})(?:\.since-([0-9TZ]{16}))?\.db$/.exec(file) ?? [];
  if (store === undefined || at === undefined) return undefined;
  const name = { store, at: parseTime(at), since: since === undefined ? since : parseTime(since) };
  return formatsAs(name, file) ? name : undefined;
}

/** False for a time such as the 32nd of May. */
function formatsAs(name: BackupName, file: string): boolean {
  const times = [name.at, ...(name.since === undefined ? [] : [name.since])];
  return times.every((time) => !Number.isNaN(time.valueOf())) && formatBackupName(name) === file;
}

function parseTime(text: string): Date {
  return new Date(text.replace(/^(....)(..)(..)T(..)(..)(..)Z$/, '$1-$2-$3T$4:$5:$6Z'));
}
