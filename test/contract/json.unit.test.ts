import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readJson } from '../../src/contract/json.ts';

// plant.unit.test.ts compares the reader with another one.

test('an escaped name is read from its own text, and not from a text before it', () => {
  // JSON.parse takes the second for the first, and the fourth for the third (nodejs/node#63785).
  const texts = [
    '{"poison":0,"\\\\":0}',
    '{"poison":0,"\\u0078":0}',
    '{"poison":0,"a":0,"\\\\n":0}',
    '{"poison":0,"a":0,"\\nx":0}',
  ];
  const last = texts.map((text) => {
    JSON.parse(text);
    return [...readObject(text).members.keys()].at(-1);
  });
  assert.deepEqual(last, ['\\', 'x', '\\n', '\nx']);
});

/**
 * A reader that looks at each unit a bounded number of times takes milliseconds for these; a
 * quadratic one takes minutes.
 */
test('a mebibyte of anything is read or refused in linear time', () => {
  const MiB = 2 ** 20;
  const texts: Readonly<Record<string, string>> = {
    'digits of an exponent': `1e${'9'.repeat(MiB)}`,
    'digits and then a fault': `[${'1'.repeat(MiB)}x`,
    'opening brackets': '['.repeat(MiB),
    'empty arrays': `[${'[],'.repeat(MiB / 3)}[]]`,
    'white space and then a fault': `[${' '.repeat(MiB)}`,
    'a string without an end': `"${'a'.repeat(MiB)}`,
    escapes: `"${'\\u0041'.repeat(MiB / 6)}"`,
    'lone surrogates': `"${'\ud83c'.repeat(MiB / 2)}"`,
    members: `{${Array.from({ length: MiB / 12 }, (_, index) => `"${index}":1`).join(',')}}`,
    'members that differ at the end': `{${Array.from({ length: 1_000 }, (_, index) => `"${'x'.repeat(1_000)}${index}":1`).join(',')}}`,
  };
  for (const [what, text] of Object.entries(texts)) {
    const start = process.cpuUsage();
    readJson(text);
    const { user, system } = process.cpuUsage(start);
    const ms = (user + system) / 1_000;
    assert(ms < 2_000, `${what}: ${ms} ms of CPU time`);
  }
});

function readObject(text: string) {
  const result = readJson(text);
  assert(typeof result !== 'string' && result.type === 'object', text);
  return result;
}
