import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/** Flips a bit of a file. @param mask the bits to flip */
export function flip(path: string, offset: number, mask = 1): void {
  const byte = readFileSync(path).readUInt8(offset);
  const file = openSync(path, 'r+');
  writeSync(file, Buffer.of(byte ^ mask), 0, 1, offset);
  closeSync(file);
}

/** The offset of the only place where the file has these bytes. */
export function offsetOf(path: string, bytes: string | Uint8Array): number {
  const content = readFileSync(path);
  const offset = content.indexOf(bytes);
  if (offset < 0 || content.includes(bytes, offset + 1))
    throw new Error(`the file has ${bytes} not exactly once`);
  return offset;
}
