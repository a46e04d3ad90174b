import { createReadStream, statSync } from 'node:fs';
import { PassThrough, pipeline, type Readable } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import type { Input } from '../cli/command.ts';
import { limits } from '../limits.ts';
import { FileError } from './format.ts';
import type { Compression } from './formats.ts';

/** Decompressed, without byte order mark. @throws FileError, errors of the file system */
export function openSource(file: string | Input, compression: Compression | undefined) {
  const input =
    typeof file === 'string'
      ? createReadStream(file, { highWaterMark: limits.transfer.importChunkBytes })
      : file;
  const stats = typeof file === 'string' ? statSync(file) : undefined;
  return {
    chunks: withoutMark(decompressed(input, compression)),
    /** So far, before decompression. */
    bytesRead: () => input.bytesRead,
    bytes: stats?.isFile() ? stats.size : undefined,
    [Symbol.dispose]: () => void input.destroy(),
  };
}

const decompressors = { gz: () => createGunzip(), zst: () => createZstdDecompress() };

async function* decompressed(input: Input, compression: Compression | undefined) {
  const decompressor = compression && decompressors[compression]();
  const output = new PassThrough({ highWaterMark: limits.transfer.importChunkBytes });
  // The loop throws the errors.
  pipeline(decompressor ? [input, decompressor, output] : [input, output], () => undefined);
  try {
    for await (const chunk of output) yield gathered(chunk, output);
  } catch (error) {
    if (!isOfZlib(error)) throw error;
    throw new FileError(
      `cannot be decompressed to its end (${error.message}); its first part has been read; ` +
        'get the file again',
      { cause: error },
    );
  }
  if (decompressor && decompressor.bytesWritten < input.bytesRead) {
    throw new FileError('has bytes after the end of the compressed data, which were not read');
  }
}

/** The chunk with the chunks that wait behind it. A pipe gives 64 KiB at a time, zlib less. */
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

const markBytesMax = 4;

/** Removes the mark of UTF-8: JSON and CSV have none, and many programs write one. @throws FileError */
async function* withoutMark(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let start: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (start === undefined) {
      yield chunk;
      continue;
    }
    start = Buffer.concat([start, chunk]);
    if (start.length < markBytesMax) continue;
    yield afterMark(start);
    start = undefined;
  }
  if (start !== undefined) yield afterMark(start);
}

function afterMark(start: Buffer): Buffer {
  const bytes = start.toString('latin1', 0, markBytesMax);
  // No text has a zero: wider units have one in each letter of ASCII.
  if (/^(?:\xff\xfe|\xfe\xff)|\0/.test(bytes)) {
    const bits = bytes.includes('\0\0') ? 32 : 16;
    const name = `UTF-${bits}${/^[\xfe\0]/.test(bytes) ? 'BE' : 'LE'}`;
    throw new FileError(`is in ${name}; convert it with: iconv -f ${name} -t UTF-8`);
  }
  return bytes.startsWith('\xef\xbb\xbf') ? start.subarray(3) : start;
}
