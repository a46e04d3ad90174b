import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sizeText } from '../src/size-text.ts';

const spellings: readonly (readonly [bytes: number, spelling: string])[] = [
  [0, '0 B'],
  [999, '999 B'],
  [1_000, '0.977 KiB'],
  [1_023, '0.999 KiB'],
  [1_024, '1 KiB'],
  [1_536, '1.5 KiB'],
  [64 * 2 ** 20, '64 MiB'],
  [999.4 * 2 ** 20, '999 MiB'],
  [999.5 * 2 ** 20, '0.976 GiB'],
  [72_969 * 2 ** 20, '71.3 GiB'],
  [256 * 2 ** 40, '256 TiB'],
  [2_000 * 2 ** 50, '2000 PiB'],
];

for (const [bytes, spelling] of spellings) {
  test(`${bytes} bytes are ${spelling}`, () => {
    assert.equal(sizeText(bytes), spelling);
  });
}
