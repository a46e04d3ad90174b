import { compactTime } from '../disk/files.ts';

/** The name of a backup in a folder: `plants-20261122T001500Z.db`. */
export interface BackupName {
  /** The first part of the name. */
  readonly store: string;
  readonly at: Date;
}

export function formatBackupName({ store, at }: BackupName): string {
  return `${store}-${compactTime(at)}.db`;
}

/** @returns undefined for any other name, and for a time such as the 32nd of May */
export function parseBackupName(file: string): BackupName | undefined {
  const [, store = '', ...parts] =
    /^(.+?)-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.db$/.exec(file) ?? [];
  const [year, month, day, hour, minute, second] = parts;
  const at = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  const name = { store, at };
  return !Number.isNaN(at.valueOf()) && formatBackupName(name) === file ? name : undefined;
}
