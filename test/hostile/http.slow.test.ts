import { test } from 'node:test';
import {
  assertAnswered,
  assertRefusedToOperators,
  assertStored,
  assertUndisturbed,
  atRandom,
  byteByByte,
} from './http-exchanges.ts';
import { scale } from './scale.ts';

const often = Array.from({ length: scale({ short: 0, long: 100 }) }, () => atRandom);

test('requests are answered as HTTP has it, byte by byte', (t) =>
  assertAnswered(t, [byteByByte, ...often]));

test("what is malformed is refused on the operators' port just so", (t) =>
  assertRefusedToOperators(t, 1));

test('a connection that is reset at any byte of a request disturbs no other client', (t) =>
  assertUndisturbed(t, 1));

test('nothing was stored but what was answered 200, and nothing was a defect', assertStored);
