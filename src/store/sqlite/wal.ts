import { readSync } from 'node:fs';
import { openFile } from '../../disk/files.ts';

const [headerBytes, frameHeaderBytes] = [32, 24];
/** Of a WAL whose checksums are little-endian, as all supported machines write them. */
const magic = 0x377f0682;

export type Frames = ReturnType<typeof framesIn>;

/** Up to the first frame that is not whole (sqlite.org/fileformat2.html#walformat). */
export function framesIn(walPath: string) {
  using wal = openFile(walPath, 'r');
  const header = Buffer.alloc(headerBytes);
  readSync(wal.descriptor, header);
  const pageBytes = header.readUInt32BE(8);
  let sum = checksum(header.subarray(0, 24), [0, 0]);
  const pages: number[] = [];
  if (header.readUInt32BE(0) === magic && isSum(header, 24, sum)) {
    const frame = Buffer.alloc(frameHeaderBytes + pageBytes);
    for (;;) {
      const at = headerBytes + pages.length * frame.length;
      if (readSync(wal.descriptor, frame, 0, frame.length, at) < frame.length) break;
      if (!frame.subarray(8, 16).equals(header.subarray(16, 24))) break;
      sum = checksum(frame.subarray(frameHeaderBytes), checksum(frame.subarray(0, 8), sum));
      if (!isSum(frame, 16, sum)) break;
      pages.push(frame.readUInt32BE(0));
    }
  }
  return {
    pageBytes,
    /** The number of the page in each frame. */
    pages,
    /** Where the page of a frame begins in the file. */
    pageAt: (frame: number) =>
      headerBytes + frame * (frameHeaderBytes + pageBytes) + frameHeaderBytes,
  };
}

/** Continues a sum over whole pairs of words. The words are in the order of this machine. */
function checksum(data: Buffer, [first, second]: Sum): Sum {
  const words = new Int32Array(data.buffer, data.byteOffset, data.length / 4);
  for (let index = 0; index < words.length; index += 2) {
    first = (first + (words[index] as number) + second) | 0;
    second = (second + (words[index + 1] as number) + first) | 0;
  }
  return [first, second];
}

type Sum = readonly [number, number];

function isSum(data: Buffer, at: number, [first, second]: Sum): boolean {
  return data.readInt32BE(at) === first && data.readInt32BE(at + 4) === second;
}
