import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { TraceEvent } from './trace.ts';

/*
 * A disk below one folder: what programs see of it, what would surely be left of it after a power
 * cut, and what might be left. The contents of a file are safe once a sync of the file has ended
 * that began after they were written, and a name once a sync of its folder has. Everything else is
 * pending: the disk may have it, or not, or a part of it.
 */

/** Disks write a sector whole, or tear it at the worst. */
const sectorBytes = 512;

/**
 * A pending change of a file, made by event `at`: bytes that come to be at `offset`, and how long
 * the file then is.
 */
interface Change {
  readonly at: number;
  readonly offset: number;
  readonly data: Buffer;
  readonly size: number;
}

/** A pending change of names in a folder; undefined removes the name. */
interface Renaming {
  readonly at: number;
  readonly names: readonly (readonly [name: string, node: Node | undefined])[];
}

interface File {
  readonly seen: Content;
  readonly safe: Content;
  pending: Change[];
}

interface Folder {
  readonly seen: Map<string, Node>;
  readonly safe: Map<string, Node>;
  pending: Renaming[];
}

type Node = File | Folder;

const isFolder = (node: Node | undefined): node is Folder =>
  node !== undefined && node.seen instanceof Map;

export interface Disk {
  /** What programs see: by path, the content of each file; undefined for a folder. */
  seen(): Map<string, Buffer | undefined>;
  /** Takes in the next event. */
  apply(event: TraceEvent): void;
  /** Writes into the folder, which is empty, what a power cut might leave. */
  writeImage(folder: string, regime: Regime): void;
  /** The numbers of the events of which something is pending, in ascending order. */
  pending(): number[];
}

/** Chooses what a power cut leaves of that which is pending. */
export interface Regime {
  /**
   * Of the changes of one sector, in order, how many are there, and how many bytes of the next one.
   */
  sector(changes: readonly number[]): { readonly whole: number; readonly tornBytes: number };
  /**
   * Of the changes of one file, in order, up to which one its length is that of the last one there.
   */
  length(changes: readonly number[]): number;
  /** Whether a change of names is there. */
  name(change: number): boolean;
}

export function createDisk(): Disk {
  const root = newFolder();
  /** Of each sync that is under way, what it will have made safe. */
  let syncs = new Map<number, { readonly node: Node; readonly before: number }>();
  let at = 0;

  function find(path: string): Node | undefined {
    let node: Node | undefined = root;
    for (const name of path.split('/').filter(Boolean))
      node = isFolder(node) ? node.seen.get(name) : undefined;
    return node;
  }

  function folderAt(path: string): Folder {
    const node = find(path);
    assert(isFolder(node), `there is no folder ${JSON.stringify(path)}`);
    return node;
  }

  function fileAt(path: string): File {
    const node = find(path);
    assert(node !== undefined && !isFolder(node), `there is no file ${JSON.stringify(path)}`);
    return node;
  }

  function rename(folder: Folder, ...names: Renaming['names']): void {
    for (const [name, node] of names) setName(folder.seen, name, node);
    folder.pending.push({ at, names });
  }

  function change(file: File, offset: number, data: Buffer, size: number): void {
    file.seen.write(offset, data, size);
    file.pending.push({ at, offset, data, size });
  }

  function synced({ node, before }: { node: Node; before: number }): void {
    if (isFolder(node)) {
      for (const { names } of node.pending.filter((renaming) => renaming.at < before)) {
        for (const [name, other] of names) setName(node.safe, name, other);
      }
      node.pending = node.pending.filter((renaming) => renaming.at >= before);
      return;
    }
    for (const { offset, data, size } of node.pending.filter((one) => one.at < before))
      node.safe.write(offset, data, size);
    node.pending = node.pending.filter((one) => one.at >= before);
  }

  function take(event: TraceEvent): void {
    switch (event.what) {
      case 'create':
      case 'mkdir': {
        const made = event.what === 'create' ? newFile() : newFolder();
        return rename(folderAt(above(event.path)), [basename(event.path), made]);
      }
      case 'unlink':
        return rename(folderAt(above(event.path)), [basename(event.path), undefined]);
      case 'link':
      case 'rename': {
        const to = event.data.toString();
        assert.equal(above(event.path), above(to), 'a file gets a name in another folder');
        const added = [basename(to), fileAt(event.path)] as const;
        const removed = [basename(event.path), undefined] as const;
        return rename(folderAt(above(to)), ...(event.what === 'rename' ? [removed] : []), added);
      }
      case 'write': {
        const file = fileAt(event.path);
        const size = Math.max(file.seen.size(), event.number + event.data.length);
        return change(file, event.number, event.data, size);
      }
      case 'truncate': {
        const file = fileAt(event.path);
        // What is cut off is zeros, should the file grow again.
        const cutOff = Buffer.alloc(Math.max(0, file.seen.size() - event.number));
        return change(file, event.number, cutOff, event.number);
      }
      case 'sync': {
        const node = find(event.path);
        assert(node, `a sync of ${event.path}, which is not there`);
        syncs.set(event.number, { node, before: at });
        return;
      }
      case 'synced':
      case 'not synced': {
        const sync = syncs.get(event.number);
        assert(sync, 'a sync has ended that had not begun');
        syncs.delete(event.number);
        if (event.what === 'synced') return synced(sync);
        // Linux then takes for written what it could not write: programs still see it, and the disk
        // will never have it.
        if (!isFolder(sync.node))
          sync.node.pending = sync.node.pending.filter((one) => one.at >= sync.before);
        return;
      }
      case 'end':
        syncs = new Map();
        return;
      case 'reply':
      case 'fault':
        return;
      default:
        return event.what satisfies never;
    }
  }

  return {
    seen() {
      const paths = new Map<string, Buffer | undefined>();
      const note = (path: string, node: Node) =>
        paths.set(path, isFolder(node) ? undefined : node.seen.bytes());
      walk('', root, ({ seen }) => seen, note);
      return paths;
    },
    apply(event) {
      take(event);
      at += 1;
    },
    writeImage(folder, regime) {
      const names = (of: Folder) => {
        const left = new Map(of.safe);
        for (const renaming of of.pending.filter((one) => regime.name(one.at))) {
          for (const [name, node] of renaming.names) setName(left, name, node);
        }
        return left;
      };
      walk('', root, names, (path, node) => {
        if (isFolder(node)) mkdirSync(join(folder, path));
        else writeFileSync(join(folder, path), contentAfterCut(node, regime), { mode: 0o600 });
      });
    },
    pending() {
      const numbers = new Set<number>();
      const note = (_: string, node: Node) => {
        for (const one of node.pending) numbers.add(one.at);
      };
      note('', root);
      walk('', root, ({ safe, seen }) => new Map([...safe, ...seen]), note);
      return [...numbers].sort((one, other) => one - other);
    },
  };
}

/** What is on a real disk, as `seen` shows it, but for the index of the log. */
export function readFolder(folder: string): Map<string, Buffer | undefined> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter(
    ({ name }) => !name.endsWith('-shm'),
  );
  return new Map(
    entries.map((entry) => {
      const path = join(entry.parentPath, entry.name);
      return [path.slice(folder.length + 1), entry.isDirectory() ? undefined : readFileSync(path)];
    }),
  );
}

function contentAfterCut({ safe, pending }: File, regime: Regime): Buffer {
  const left = newContent();
  left.write(0, safe.bytes(), safe.size());
  const bySector = new Map<number, Change[]>();
  for (const change of pending) {
    const end = change.offset + change.data.length;
    const first = Math.floor(change.offset / sectorBytes);
    for (let sector = first; sector * sectorBytes < end; sector += 1) {
      const changes = bySector.get(sector);
      if (changes) changes.push(change);
      else bySector.set(sector, [change]);
    }
  }
  for (const [sector, changes] of bySector) {
    const { whole, tornBytes } = regime.sector(changes.map(({ at }) => at));
    for (const change of changes.slice(0, whole))
      writePart(left, change, sector * sectorBytes, sectorBytes);
    const next = changes[whole];
    if (next) writePart(left, next, sector * sectorBytes, tornBytes);
  }
  const count = regime.length(pending.map(({ at }) => at));
  left.write(0, Buffer.alloc(0), pending[count - 1]?.size ?? safe.size());
  return left.bytes();
}

/** Of a change, that which lies in the `length` bytes from `begin` on. */
function writePart(
  content: Content,
  { offset, data }: Change,
  begin: number,
  length: number,
): void {
  const from = Math.max(begin, offset);
  const to = Math.min(begin + length, offset + data.length);
  if (from < to)
    content.write(from, data.subarray(from - offset, to - offset), Math.max(content.size(), to));
}

/** Calls for everything below the folder, the folders before what is in them. */
function walk(
  path: string,
  folder: Folder,
  names: (folder: Folder) => Map<string, Node>,
  call: (path: string, node: Node) => void,
): void {
  for (const [name, node] of names(folder)) {
    const at = join(path, name);
    call(at, node);
    if (isFolder(node)) walk(at, node, names, call);
  }
}

function setName(names: Map<string, Node>, name: string, node: Node | undefined): void {
  if (node) names.set(name, node);
  else names.delete(name);
}

function above(path: string): string {
  return dirname(`/${path}`);
}

function newFile(): File {
  return { seen: newContent(), safe: newContent(), pending: [] };
}

function newFolder(): Folder {
  return { seen: new Map(), safe: new Map(), pending: [] };
}

interface Content {
  size(): number;
  /**
   * Puts the bytes there, and makes it that long: what comes to be in it without being written is
   * zeros.
   */
  write(offset: number, data: Buffer, size: number): void;
  bytes(): Buffer;
}

function newContent(): Content {
  let held = Buffer.alloc(0);
  let length = 0;
  return {
    size: () => length,
    write(offset, data, size) {
      const needed = Math.max(size, offset + data.length);
      if (needed > held.length) held = Buffer.concat([held], 2 * needed);
      data.copy(held, offset);
      if (size < length) held.fill(0, size, length);
      length = size;
    },
    bytes: () => held.subarray(0, length),
  };
}
