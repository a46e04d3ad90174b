import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { JsonFault, type JsonValue, readJson } from '../../src/contract/json.ts';
import { editedJsonText, jsonText, runs, spelled } from './json-text.ts';

// The long form of the property tests is described in json-text.ts.

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

// Inside of an array the rule against a second member does not hold, so that nothing stands between
// the two readers.
test('any text is accepted exactly if JSON.parse accepts it, and read as the same', () => {
  const tally = { accepted: 0, refused: 0 };
  const text = fc.oneof(jsonText, editedJsonText, fc.json(), fc.string({ unit: 'binary' }));
  fc.assert(
    fc.property(text, (inner) => {
      const parsed = parsedOrUndefined(`[${inner}]`);
      const result = readJson(`[${inner}]`);
      assert.equal(result instanceof JsonFault, parsed === undefined, message(result));
      tally[parsed === undefined ? 'refused' : 'accepted'] += 1;
      assertSameAlone(inner);
    }),
    runs,
  );
  // Otherwise the property above would say little.
  assert(Math.min(tally.accepted, tally.refused) > runs.numRuns / 10, JSON.stringify(tally));
});

test('any object is refused exactly if it has a member twice, however the two are spelled', () => {
  const tally = { once: 0, twice: 0 };
  const names = fc.array(spelled(fc.constantFrom('a', 'é', '/', '"'), 1), { maxLength: 5 });
  fc.assert(
    fc.property(names, jsonText, (members, value) => {
      const result = readJson(`{${members.map(({ json }) => `${json}:${value}`).join(',')}}`);
      const distinct = new Set(members.map(({ text }) => text)).size === members.length;
      assert.equal(result instanceof JsonFault, !distinct, message(result));
      tally[distinct ? 'once' : 'twice'] += 1;
    }),
    runs,
  );
  assert(Math.min(tally.once, tally.twice) > runs.numRuns / 20, JSON.stringify(tally));
});

/** The text as a whole: only where a member is given twice may the two readers differ. */
function assertSameAlone(text: string): void {
  const result = readJson(text);
  const parsed = parsedOrUndefined(text);
  if (!(result instanceof JsonFault)) {
    assert(parsed !== undefined, text);
    assertAgrees(result, parsed.value);
  } else if (parsed !== undefined) {
    assert.match(result.message, /^the member ".*" is given a second time/);
  }
}

function parsedOrUndefined(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) };
  } catch {
    // That is the answer: it is not JSON.
    return undefined;
  }
}

function assertAgrees(result: JsonValue | JsonFault, value: unknown): void {
  assert(!(result instanceof JsonFault), message(result));
  assert.equal(
    result.type,
    value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value,
  );
  if (result.type === 'string') assert.equal(result.value, value);
  if (result.type === 'number') assert.equal(Number(result.literal), value);
  if (result.type !== 'object') return;
  const members = value as Readonly<Record<string, unknown>>;
  assert.deepEqual([...result.members.keys()].sort(), Object.keys(members).sort());
  for (const [name, member] of result.members) assertMemberAgrees(member, members[name]);
}

/** Of a nested object, only that it is one is kept. */
function assertMemberAgrees(member: JsonValue, value: unknown): void {
  if (member.type !== 'object') {
    assertAgrees(member, value);
    return;
  }
  assert(typeof value === 'object' && value !== null && !Array.isArray(value));
  assert.equal(member.members.size, 0);
}

function readObject(text: string) {
  const result = readJson(text);
  assert(!(result instanceof JsonFault) && result.type === 'object', message(result));
  return result;
}

function message(result: JsonValue | JsonFault): string {
  return result instanceof JsonFault ? result.message : result.type;
}
