import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { limits } from '../../limits.ts';

/** A plant as its page holds it. */
export interface PagePlant {
  readonly id: bigint;
  readonly name: string;
  readonly tag: string | null;
  readonly createdAtMs: bigint;
  readonly createdBy: bigint;
}

/**
 * Reads the plants of a store page by page, in the order of the pages
 * (sqlite.org/fileformat2.html#b_tree_pages). No page leads to another page, so a damaged page costs
 * only its own plants. A cell that has not exactly the form of a plant is left out. Plants are never
 * changed or removed, so a page out of use holds no wrong plant.
 *
 * @param path a store that no process changes. Its WAL is not read.
 */
export function* plantsOnPages(path: string): Generator<PagePlant> {
  const descriptor = openSync(path, 'r');
  try {
    const file = pagesOf(descriptor);
    const page = Buffer.alloc(pageBytes);
    // The first page has the schema.
    for (let number = 2; number <= file.count; number += 1) {
      file.read(number, page);
      if (page[0] === tableLeaf) yield* plantsOn(page, file);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** The service makes all stores with this page size. A destroyed header does not tell. */
const pageBytes = 4_096;
const tableLeaf = 0x0d;
const leafHeaderBytes = 8;

interface Pages {
  readonly count: number;
  /** Reads a page. Numbers begin at 1. */
  read(number: number, into: Buffer): void;
}

function pagesOf(descriptor: number): Pages {
  return {
    count: Math.floor(fstatSync(descriptor).size / pageBytes),
    read: (number, into) =>
      void readSync(descriptor, into, { position: (number - 1) * pageBytes, length: pageBytes }),
  };
}

function* plantsOn(page: Buffer, file: Pages): Generator<PagePlant> {
  const cellsMax = (pageBytes - leafHeaderBytes) / 2;
  const cells = Math.min(page.readUInt16BE(3), cellsMax);
  for (let cell = 0; cell < cells; cell += 1) {
    const offset = page.readUInt16BE(leafHeaderBytes + 2 * cell);
    const plant = offset < pageBytes ? plantIn(page, offset, file) : undefined;
    if (plant !== undefined) yield plant;
  }
}

function plantIn(page: Buffer, offset: number, file: Pages): PagePlant | undefined {
  const cursor = { bytes: page, at: offset };
  const payloadBytes = Number(varint(cursor));
  const id = varint(cursor);
  const { at } = cursor;
  const form = formOf(cursor);
  if (form === undefined || form.bytes !== payloadBytes) return undefined;
  const payload = payloadAt(page, at, payloadBytes, file);
  return payload && plantOf(id, payload, form);
}

/** The columns of a plant in a record (#record_format): texts in bytes, integers by serial type. */
interface Form {
  readonly headerBytes: number;
  readonly name: number;
  readonly tag: number | null;
  readonly createdAt: number;
  readonly createdBy: number;
  /** Of the whole record. */
  readonly bytes: number;
}

/** @returns undefined for a record that is no plant */
function formOf(cursor: Cursor): Form | undefined {
  const start = cursor.at;
  const take = () => Number(varint(cursor));
  const [headerBytes, id, nameType] = [take(), take(), take()];
  const [tagType, createdAt, createdBy] = [take(), take(), take()];
  const name = textBytes(nameType);
  const tag = tagType === 0 ? null : textBytes(tagType);
  const [timeBytes, tokenBytes] = [integerBytes[createdAt], integerBytes[createdBy]];
  // The id is the key of the cell, and NULL in the record.
  if (id !== 0 || cursor.at - start !== headerBytes) return undefined;
  if (name === undefined || tag === undefined) return undefined;
  if (timeBytes === undefined || tokenBytes === undefined) return undefined;
  const bytes = headerBytes + name + (tag ?? 0) + timeBytes + tokenBytes;
  return { headerBytes, name, tag, createdAt, createdBy, bytes };
}

/** By serial type. */
const integerBytes: readonly (number | undefined)[] = [
  ...[undefined, 1, 2, 3, 4, 6, 8],
  ...[undefined, 0, 0],
];

function integer(serialType: number, bytes: Buffer): bigint {
  if (bytes.length === 0) return BigInt(serialType - 8);
  return BigInt.asIntN(8 * bytes.length, BigInt(`0x${bytes.toString('hex')}`));
}

function textBytes(serialType: number): number | undefined {
  return serialType >= 13 && serialType % 2 === 1 ? (serialType - 13) / 2 : undefined;
}

/** A payload that is too long for its page goes on in a chain of pages (#cell_payload). */
function payloadAt(page: Buffer, at: number, bytes: number, file: Pages): Buffer | undefined {
  const localMax = pageBytes - 35;
  if (bytes <= localMax) return at + bytes <= pageBytes ? page.subarray(at, at + bytes) : undefined;
  if (bytes > limits.store.queueBytesMax) return undefined;
  const localMin = Math.floor(((pageBytes - 12) * 32) / 255) - 23;
  const spread = localMin + ((bytes - localMin) % (pageBytes - 4));
  const local = spread <= localMax ? spread : localMin;
  if (at + local + 4 > pageBytes) return undefined;
  const pieces = [page.subarray(at, at + local)];
  let next = page.readUInt32BE(at + local);
  for (let left = bytes - local; left > 0; left -= pageBytes - 4) {
    if (next < 2 || next > file.count) return undefined;
    const piece = Buffer.alloc(pageBytes);
    file.read(next, piece);
    pieces.push(piece.subarray(4, 4 + left));
    next = piece.readUInt32BE(0);
  }
  return Buffer.concat(pieces);
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function plantOf(id: bigint, payload: Buffer, form: Form): PagePlant | undefined {
  let at = form.headerBytes;
  const take = (bytes: number) => payload.subarray(at, (at += bytes));
  try {
    return {
      id,
      name: utf8.decode(take(form.name)),
      tag: form.tag === null ? null : utf8.decode(take(form.tag)),
      createdAtMs: integer(form.createdAt, take(integerBytes[form.createdAt] ?? 0)),
      createdBy: integer(form.createdBy, take(integerBytes[form.createdBy] ?? 0)),
    };
  } catch {
    // A text is no UTF-8, and so damaged.
    return undefined;
  }
}

interface Cursor {
  readonly bytes: Buffer;
  at: number;
}

/** Seven bits a byte while the first bit is set, and eight bits in a ninth byte (#varint). */
function varint(cursor: Cursor): bigint {
  let value = 0n;
  for (let count = 1; count < 9; count += 1) {
    const byte = cursor.bytes[cursor.at++] ?? 0;
    value = (value << 7n) | BigInt(byte & 0x7f);
    if (byte < 0x80) return value;
  }
  return BigInt.asIntN(64, (value << 8n) | BigInt(cursor.bytes[cursor.at++] ?? 0));
}
