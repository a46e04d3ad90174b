import { createReadStream, statSync } from 'node:fs';
import { PassThrough, pipeline, type Readable } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { limits } from '../limits.ts';
import { FileError } from './format.ts';
import type { Compression } from './formats.ts';

/** A stream that counts what has been read from it. */
export type Input = Readable & { readonly bytesRead: number };

/** The bytes of a file, decompressed and without a byte order mark. */
export interface Source extends Disposable {
  /**
   * Of some `limits.transfer.importChunkBytes`. @throws FileError; the errors of the file system
   */
  readonly chunks: AsyncIterable<Buffer>;
  /** How much of `bytes` has been read, before it was decompressed. */
  bytesRead(): number;
  /** Undefined where the end cannot be known, as of a pipe. */
  readonly bytes: number | undefined;
}

export function openSource(file: string | Input, compression: Compression | undefined): Source {
  const input =
    typeof file === 'string'
      ? createReadStream(file, { highWaterMark: limits.transfer.importChunkBytes })
      : file;
  const stats = typeof file === 'string' ? statSync(file) : undefined;
  const bytes = stats?.isFile() ? stats.size : undefined;
  const chunks = withoutMark(decompressed(input, compression));
  return {
    chunks,
    bytesRead: () => input.bytesRead,
    bytes,
    [Symbol.dispose]: () => void input.destroy(),
  };
}

const decompressors = { gz: () => createGunzip(), zst: () => createZstdDecompress() };

async function* decompressed(
  input: Input,
  compression: Compression | undefined,
): AsyncGenerator<Buffer> {
  const decompressor = compression && decompressors[compression]();
  const output = new PassThrough({ highWaterMark: limits.transfer.importChunkBytes });
  // What fails is thrown by the loop.
  pipeline(decompressor ? [input, decompressor, output] : [input, output], () => undefined);
  try {
    for await (const chunk of output) yield gathered(chunk, output);
  } catch (error) {
    if (!isOfZlib(error)) throw error;
    throw new FileError(
      `cannot be decompressed to its end (${error.message}), and has been read in part only; get it anew`,
      {
        cause: error,
      },
    );
  }
  if (decompressor && decompressor.bytesWritten < input.bytesRead) {
    throw new FileError('goes on after the end of what is compressed; that has not been read');
  }
}

/**
 * With what has come while the plants before it were stored: a pipe gives 64 KiB at a time, and
 * zlib even less.
 */
function gathered(first: Buffer, stream: Readable): Buffer {
  const chunks = [first];
  let bytes = first.length;
  while (bytes < limits.transfer.importChunkBytes) {
    const next: Buffer | null = stream.read();
    if (next === null) break;
    chunks.push(next);
    bytes += next.length;
  }
  return Buffer.concat(chunks, bytes);
}

function isOfZlib(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && /^(?:Z_|ZSTD_)/.test(String(error.code));
}

const utf8Mark = [0xef, 0xbb, 0xbf];

/** What other files begin with. Without a word about them, each of their lines would be refused. */
const marksOfOthers: readonly (readonly [mark: readonly number[], says: string])[] = [
  [[0xff, 0xfe], 'is in UTF-16; save it in UTF-8'],
  [[0xfe, 0xff], 'is in UTF-16; save it in UTF-8'],
  [
    [0x50, 0x4b, 0x03, 0x04],
    'is a ZIP archive, as the files of spreadsheets are; save it as CSV in UTF-8',
  ],
  [[0x1f, 0x8b], 'is compressed with gzip; let its name end with .gz, or decompress it first'],
  [
    [0x28, 0xb5, 0x2f, 0xfd],
    'is compressed with zstd; let its name end with .zst, or decompress it first',
  ],
];

/** The mark counts nowhere in JSON or CSV, and many programs write it. */
async function* withoutMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let start: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (start === undefined) {
      yield chunk;
      continue;
    }
    start = Buffer.concat([start, chunk]);
    if (isBeginningOfMark(start)) continue;
    yield afterMark(start);
    start = undefined;
  }
  if (start !== undefined) yield afterMark(start);
}

/** Then it is not known yet what the file begins with. */
function isBeginningOfMark(start: Buffer): boolean {
  const marks = [utf8Mark, ...marksOfOthers.map(([mark]) => mark)];
  return marks.some(
    (mark) => start.length < mark.length && start.every((byte, index) => byte === mark[index]),
  );
}

function afterMark(start: Buffer): Buffer {
  const begins = (mark: readonly number[]) => mark.every((byte, index) => start[index] === byte);
  const other = marksOfOthers.find(([mark]) => begins(mark));
  if (other !== undefined) throw new FileError(other[1]);
  return begins(utf8Mark) ? start.subarray(utf8Mark.length) : start;
}
