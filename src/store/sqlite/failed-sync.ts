import {
  constants,
  existsSync,
  fchownSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  readFileSync,
  statSync,
  writeSync,
} from 'node:fs';
import { promisify } from 'node:util';
import { openFile, withoutLinks } from '../../disk/files.ts';
import { StoreError } from '../errors.ts';
import { syncNotesEnding } from '../location.ts';

/** The files of a store that are synced. */
export const parts = ['store', 'WAL'] as const;
export type Part = (typeof parts)[number];

/** Bytes of the note about one file. */
const noteBytes = 512;

/** Linux makes another at each start of the machine. Other systems have no such file. */
const bootIdFile = '/proc/sys/kernel/random/boot_id';

export function fileOf(path: string, part: Part): string {
  return withoutLinks(path) + (part === 'WAL' ? '-wal' : '');
}

const sync = promisify(fdatasync);

/** Syncs a file of a store on a thread of libuv. @throws StoreError */
export async function syncPart(part: Part, descriptor: number): Promise<void> {
  try {
    await sync(descriptor);
  } catch (cause) {
    const reason = (cause as Error).message;
    throw new StoreError('fatal', `the sync of the ${part} has failed (${reason})`, { cause });
  }
}

/**
 * Notes about failed syncs, in the file `-sync` beside the store.
 *
 * After a failed sync, Linux takes pages for written that the disk does not have. The next process
 * reads these pages from memory, as all others. So the process that has seen the failure leaves a
 * note, and `repair` clears the note. The file is made before, because the usual cause is a full
 * disk.
 *
 * A note is void after a restart of the machine, which has forgotten these pages, and for a file in
 * place of the old one. So the notes themselves need no sync.
 *
 * @throws errors of the file system
 */
export function noteFailedSyncs(path: string, failed: Iterable<Part>): void {
  makeSyncNotes(path);
  for (const part of failed) write(path, part, noteOf(path, part) ?? line(''));
}

export function clearSyncNotes(path: string): void {
  for (const part of parts) write(path, part, line(''));
}

function write(path: string, part: Part, text: string): void {
  using notes = openFile(notesOf(path), 'r+');
  writeSync(notes.descriptor, text, parts.indexOf(part) * noteBytes);
}

/** Takes its room on the disk, and the mode and from root the owner of the store, as SQLite does. */
export function makeSyncNotes(path: string): void {
  const { mode, uid, gid } = statSync(path);
  const { O_RDWR, O_CREAT } = constants;
  using notes = openFile(notesOf(path), O_RDWR | O_CREAT, mode & 0o777);
  const { descriptor } = notes;
  if (fstatSync(descriptor).size > 0) return;
  if (process.geteuid?.() === 0) fchownSync(descriptor, uid, gid);
  writeSync(descriptor, line('').repeat(parts.length), 0);
  fdatasyncSync(descriptor);
}

/** The files with a note that is in force. */
export function failedSyncsOf(path: string): Part[] {
  const file = notesOf(path);
  const notes = existsSync(file) ? readFileSync(file, 'utf8') : '';
  return parts.filter((part, index) => {
    const note = notes.slice(index * noteBytes, (index + 1) * noteBytes);
    return note.trim() !== '' && note === noteOf(path, part);
  });
}

/** What a failed sync means for the store. A clause; undefined without a note in force. */
export function doubtOf(path: string): string | undefined {
  const failed = failedSyncsOf(path);
  if (failed.length === 0) return undefined;
  return (
    `a sync of the ${failed.join(' and of the ')} has failed, and the disk may lack pages that only ` +
    'the memory of this machine has; start the service, which repairs the store, before the ' +
    'machine is turned off'
  );
}

/** Undefined without the file, or on a system without notes. */
function noteOf(path: string, part: Part): string | undefined {
  const file = statSync(fileOf(path, part), { bigint: true, throwIfNoEntry: false });
  if (file === undefined || !existsSync(bootIdFile)) return undefined;
  const bootId = readFileSync(bootIdFile, 'utf8').trim();
  return line(`${bootId} ${file.dev}:${file.ino}:${file.birthtimeNs}`);
}

function line(text: string): string {
  return `${text.padEnd(noteBytes - 1)}\n`;
}

function notesOf(path: string): string {
  return withoutLinks(path) + syncNotesEnding;
}
