import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { JsonFault, type JsonValue, readJson } from '../../src/contract/json.ts';
import { editedJsonText, hex4, jsonText, runs, spelled } from './json-text.ts';

// The long form of the property tests is described in json-text.ts.

const accepted: readonly string[] = [
  'null',
  'true',
  'false',
  '0',
  '-0',
  '1.0e-1',
  '""',
  '[]',
  '{}',
  ' \t\n\r[ \t\n\r1 \t\n\r, \t\n\r2 \t\n\r] \t\n\r',
  '\n{ "a" : 1 , "b" : { } }\n',
  '[[],{},[[]],"",null,true,false,-1.5E+3]',
  '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\uabCD"',
  '"\u007f\u0080\u2028\u2029\ufeff\uffff🌱"',
  '{"":1,"__proto__":2,"constructor":3,"hasOwnProperty":4,"toString":5}',
  '[{"a":1,"a":2}]',
  '{"a":{"b":1,"b":2}}',
];

const refused: readonly (readonly [text: string, message: string])[] = [
  ['', 'the text ends where a value is expected (at byte 1)'],
  ['nul', '"n" where a value is expected (at byte 1)'],
  ['True', '"T" where a value is expected (at byte 1)'],
  ['NaN', '"N" where a value is expected (at byte 1)'],
  ['1 2', '"2" where the end of the text is expected (at byte 3)'],
  ['{}\0', '"\\u0000" where the end of the text is expected (at byte 3)'],
  ['\ud83c', '"\\ud83c" where a value is expected (at byte 1)'],

  ['\u00a0{}', '"\u00a0" where a value is expected (at byte 1)'],
  ['\v{}', '"\\u000b" where a value is expected (at byte 1)'],
  ['// a\n{}', '"/" where a value is expected (at byte 1)'],

  ['-', 'a broken number (at byte 1)'],
  ['.5', '"." where a value is expected (at byte 1)'],
  ['-x', 'a broken number (at byte 1)'],
  ['-01', '"1" where the end of the text is expected (at byte 3)'],
  ['1.', '"." where the end of the text is expected (at byte 2)'],
  ['1e', '"e" where the end of the text is expected (at byte 2)'],
  ['1e1.5', '"." where the end of the text is expected (at byte 4)'],
  ['1_000', '"_" where the end of the text is expected (at byte 2)'],
  ['١', '"١" where a value is expected (at byte 1)'],

  ['"abc', 'a string without an end (at byte 1)'],
  ['"\\"', 'a string without an end (at byte 1)'],
  ['"\\a"', 'a broken escape in a string (at byte 2)'],
  ['"\\x41"', 'a broken escape in a string (at byte 2)'],
  ['"\\u004"', 'a broken escape in a string (at byte 2)'],
  ['"\\u{41}"', 'a broken escape in a string (at byte 2)'],
  ['"\\u', 'a broken escape in a string (at byte 2)'],
  ['`a`', '"`" where a value is expected (at byte 1)'],

  ['[1', 'the text ends where "," or "]" is expected (at byte 3)'],
  ['[1,]', '"]" where a value is expected (at byte 4)'],
  ['[1,,2]', '"," where a value is expected (at byte 4)'],
  ['[1}', '"}" where "," or "]" is expected (at byte 3)'],

  ['{', 'the text ends where a member name in quotes is expected (at byte 2)'],
  ['{"a":', 'the text ends where a value is expected (at byte 6)'],
  ['{"a":1,', 'the text ends where a member name in quotes is expected (at byte 8)'],
  ['{,"a":1}', '"," where a member name in quotes is expected (at byte 2)'],
  ['{"a" 1}', '"1" where ":" is expected (at byte 6)'],
  ['{"a":1 "b":2}', '"\\"" where "," or "}" is expected (at byte 8)'],
  ['{a:1}', '"a" where a member name in quotes is expected (at byte 2)'],
  ['{1:1}', '"1" where a member name in quotes is expected (at byte 2)'],
  ['{"a', 'a string without an end (at byte 2)'],

  ['{"a":1,"a":1}', 'the member "a" is given a second time (at byte 8)'],
  ['{"a":1, "\\u0061":2}', 'the member "a" is given a second time (at byte 9)'],
  ['{"\\u0061":1,"a":2}', 'the member "a" is given a second time (at byte 13)'],
  ['{"\\u00e9":1,"\\u00E9":2}', 'the member "é" is given a second time (at byte 13)'],
  ['{"/":1,"\\/":2}', 'the member "/" is given a second time (at byte 8)'],
  ['{"":1,"":2}', 'the member "" is given a second time (at byte 7)'],
  ['{"__proto__":1,"__proto__":2}', 'the member "__proto__" is given a second time (at byte 16)'],
  ['{"a":[],"b":{"a":1},"a":null}', 'the member "a" is given a second time (at byte 21)'],
  [
    `{"${'x'.repeat(70)}":1,"${'x'.repeat(70)}":2}`,
    `the member "${'x'.repeat(64)}…" is given a second time (at byte 77)`,
  ],
];

test('what RFC 8259 calls JSON is read', () => {
  for (const text of accepted) assertAgrees(readJson(text), JSON.parse(text));
});

test('what is not JSON is refused, and the message says what is wrong and where', () => {
  for (const [text, message] of refused) {
    const result = readJson(text);
    assert(result instanceof JsonFault, text);
    assert.equal(result.message, message, text);
  }
});

test('a fault is at the byte of the text in UTF-8, whatever stands before it', () => {
  for (const [before, bytes] of [
    ['é', 2],
    ['\u2028', 3],
    ['🌱', 4],
    ['é🌱'.repeat(100_000), 600_000],
  ] as const) {
    const fault = readJson(`["${before}" x`);
    assert(fault instanceof JsonFault);
    assert.equal(fault.message, `"x" where "," or "]" is expected (at byte ${bytes + 5})`);
  }
});

test('every text in that list but the ambiguous ones is refused by JSON.parse too', () => {
  for (const [text, message] of refused) {
    if (!message.includes('second time')) assert.throws(() => JSON.parse(text), SyntaxError, text);
  }
});

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

test('names that every JavaScript object has are only names', () => {
  const { members } = readObject('{"__proto__":"a","constructor":"b","hasOwnProperty":"c"}');
  assert.deepEqual([...members.keys()], ['__proto__', 'constructor', 'hasOwnProperty']);
  assert.deepEqual(members.get('__proto__'), { type: 'string', value: 'a' });
  assert.equal(readObject('{}').members.get('constructor'), undefined);
});

test('a number keeps every digit that it was spelled with', () => {
  for (const literal of [
    '9007199254740993',
    '-0',
    '1.50e1',
    '1E+19',
    '0e99999999999',
    '0.10000000000000000000000000000000001',
  ]) {
    assert.deepEqual(readJson(` ${literal} `), { type: 'number', literal });
  }
});

test('every control character is refused in a string as it is, and read from its escape', () => {
  for (let unit = 0; unit < 0x20; unit += 1) {
    const character = String.fromCharCode(unit);
    const fault = readJson(`"a${character}"`);
    assert(fault instanceof JsonFault, hex4(unit));
    assert.equal(fault.message, 'a control character in a string (at byte 3)');
    assert.deepEqual(readJson(`"\\u${hex4(unit)}"`), { type: 'string', value: character });
  }
});

test('of the 65,536 units, only the four kinds of white space are skipped', () => {
  const skipped = [];
  for (let unit = 0; unit < 0x10000; unit += 1) {
    if (!(readJson(`${String.fromCharCode(unit)}[]`) instanceof JsonFault)) skipped.push(unit);
  }
  assert.deepEqual(skipped, [0x09, 0x0a, 0x0d, 0x20]);
});

test('nesting may be 100 deep, and not 101', () => {
  for (const [open, close] of [
    ['[', ']'],
    ['{"a":', '}'],
    ['[{"a":', '}]'],
  ] as const) {
    const levels = open === '[{"a":' ? 2 : 1;
    const nested = (depth: number, inner: string) =>
      open.repeat(depth / levels) + inner + close.repeat(depth / levels);
    assert.equal(readJson(nested(100, '1')) instanceof JsonFault, false, open);
    assert.equal(readJson(nested(100, '"[[[{{{"')) instanceof JsonFault, false, open);
    for (const inner of ['[]', '{}', '[1]', '[']) {
      const fault = readJson(nested(100, inner));
      assert(fault instanceof JsonFault, `${open} ${inner}`);
      assert.equal(
        fault.message,
        `nesting deeper than 100 (at byte ${(open.length * 100) / levels + 1})`,
      );
    }
  }
});

/**
 * A reader that looks at each unit a bounded number of times takes milliseconds for these; a
 * quadratic one takes minutes.
 */
test('a mebibyte of anything is read or refused in linear time', () => {
  const MiB = 2 ** 20;
  const texts: Readonly<Record<string, string>> = {
    digits: '1'.repeat(MiB),
    'zeros of a fraction': `0.${'0'.repeat(MiB)}`,
    'digits of an exponent': `1e${'9'.repeat(MiB)}`,
    'digits and then a fault': `[${'1'.repeat(MiB)}x`,
    'a fraction and then a fault': `[1.${'1'.repeat(MiB)}e`,
    'opening brackets': '['.repeat(MiB),
    'opening braces': '{"a":'.repeat(MiB / 5),
    'empty arrays': `[${'[],'.repeat(MiB / 3)}[]]`,
    'white space': `${' '.repeat(MiB)}1`,
    'white space and then a fault': `[${' '.repeat(MiB)}`,
    'a string': `"${'a'.repeat(MiB)}"`,
    'a string without an end': `"${'a'.repeat(MiB)}`,
    escapes: `"${'\\u0041'.repeat(MiB / 6)}"`,
    'escapes without an end': `"${'\\"'.repeat(MiB / 2)}`,
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
