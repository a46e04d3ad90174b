import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type NewPlant, newPlantLine, parseNewPlant, plantBody } from '../../src/contract/plant.ts';
import { type ProblemName, Refusal } from '../../src/contract/problems.ts';
import { brokenUtf8, hostileBody } from './hostile-bodies.ts';
import { runs, spelledPlant } from './json-text.ts';
import { worthOf } from './plant-reference.ts';

// The long form of the property tests is described in json-text.ts.

/** Bodies and the plants that they are. */
const plants: readonly (readonly [body: string, plant: NewPlant])[] = [
  ['{"id":1,"name":"Alder","tag":"Alnus"}', { id: 1n, name: 'Alder', tag: 'Alnus' }],
  ['{"id":1,"name":"","tag":""}', { id: 1n, name: '', tag: '' }],
  ['{"id":1,"name":"e\u0301","tag":"\u00e9"}', { id: 1n, name: 'e\u0301', tag: '\u00e9' }],
  ['{"id":1,"name":"🌱","tag":"\\ud83c\\udf31"}', { id: 1n, name: '🌱', tag: '🌱' }],
  ['{"\\u0069\\u0064":1,"n\\u0061me":"Alder"}', { id: 1n, name: 'Alder', tag: undefined }],
  ['{"id":1.50e1,"name":""}', { id: 15n, name: '', tag: undefined }],
  ['{"id":9007199254740993,"name":""}', { id: 2n ** 53n + 1n, name: '', tag: undefined }],
  ['{"id":9223372036854775807,"name":""}', { id: 2n ** 63n - 1n, name: '', tag: undefined }],
  ['{"id":-9223372036854775808,"name":""}', { id: -(2n ** 63n), name: '', tag: undefined }],
  ['{"id":1,"name":"Alder","more":"\\ud83c\\u0000"}', { id: 1n, name: 'Alder', tag: undefined }],
  [
    '{"id":1,"name":"Alder","__proto__":{"tag":"x"},"constructor":1,"hasOwnProperty":2}',
    { id: 1n, name: 'Alder', tag: undefined },
  ],
];

const notInt64 = '`id` must be an integer from -9223372036854775808 to 9223372036854775807.';

/** Bodies that are refused, each with its problem and message. */
const refusals: readonly (readonly [body: string, problem: ProblemName, message: string])[] = [
  ['', 'bodyMalformed', 'The body is not JSON: it is empty.'],
  [
    '\ufeff{"id":1,"name":""}',
    'bodyMalformed',
    'The body is not JSON: it starts with a byte order mark.',
  ],
  [
    '{"id":1,"name":"Alder"',
    'bodyMalformed',
    'The body is not JSON as accepted here: the text ends where "," or "}" is expected (at byte 23).',
  ],
  [
    '{"id":1,"id":1,"name":""}',
    'bodyMalformed',
    'The body is not JSON as accepted here: the member "id" is given a second time (at byte 9).',
  ],

  [
    '[{"id":1,"name":""}]',
    'notNewPlant',
    'The body must be a JSON object with `id` and `name`; it is an array.',
  ],
  ['{}', 'notNewPlant', '`id` must be an integer; it is missing.'],
  ['{"id":"1","name":"Alder"}', 'notNewPlant', '`id` must be an integer; it is a string.'],
  ['{"id":1}', 'notNewPlant', '`name` must be a string; it is missing.'],
  [
    '{"id":1,"name":"Alder","tag":null}',
    'notNewPlant',
    '`tag` must be a string or left out; it is null.',
  ],

  ['{"id":1.5,"name":""}', 'idNotInt64', notInt64],
  ['{"id":9223372036854775808,"name":""}', 'idNotInt64', notInt64],

  [
    '{"id":1,"name":"\\u0000"}',
    'textNotStorable',
    '`name` holds U+0000 or a lone surrogate, which cannot be stored exactly.',
  ],
  [
    '{"id":1,"name":"","tag":"a\\u0000"}',
    'textNotStorable',
    '`tag` holds U+0000 or a lone surrogate, which cannot be stored exactly.',
  ],
];

test('a NewPlant is read exactly', () => {
  for (const [body, plant] of plants)
    assert.deepEqual(parseNewPlant(Buffer.from(body)), plant, body);
});

test('what is not a NewPlant is refused with its code, and the message says what is wrong and where', () => {
  for (const [body, problem, message] of refusals)
    assertRefused(Buffer.from(body), problem, message);
});

test('of several faults the first in the order JSON, shape, id, name, tag is answered', () => {
  const order: readonly (readonly [body: string, problem: ProblemName])[] = [
    ['{"id":1.5,"name":"\\u0000","tag":null}x', 'bodyMalformed'],
    ['{"id":1.5,"id":1.5,"tag":null}', 'bodyMalformed'],
    ['{"id":1.5,"name":"\\u0000","tag":null}', 'notNewPlant'],
    ['{"id":1.5}', 'notNewPlant'],
    ['{"id":1.5,"name":"\\u0000"}', 'idNotInt64'],
  ];
  for (const [body, problem] of order)
    assert.equal(refusal(Buffer.from(body)).problem, problem, body);
  const { message } = refusal(Buffer.from('{"id":1,"name":"\\u0000","tag":"\\u0000"}'));
  assert.match(message, /^`name`/);
  assert.match(refusal(Buffer.from('{"tag":null}')).message, /^`id`/);
});

test('bytes that are not UTF-8 are refused', () => {
  const refused = (before: string, bytes: readonly number[], after: string) =>
    assertRefused(
      bytesOf(before, bytes, after),
      'bodyMalformed',
      'The body is not JSON: it is not valid UTF-8.',
      bytes.toString(),
    );
  for (const bytes of Object.values(brokenUtf8).flat()) {
    // Also in a member that is ignored, at the start, and after the end.
    refused('{"id":1,"name":"é', bytes, '"}');
    refused('{"id":1,"name":"","x":"\ufffd', bytes, '"}');
    refused('', bytes, '{"id":1,"name":""}');
    refused('{"id":1,"name":""}', bytes, '');
  }
});

test('a plant with a member 99 deep is read, and one with a member 100 deep is refused', () => {
  const body = (depth: number) =>
    Buffer.from(`{"x":${'['.repeat(depth)}${']'.repeat(depth)},"id":1,"name":""}`);
  assert.deepEqual(parseNewPlant(body(99)), { id: 1n, name: '', tag: undefined });
  assertRefused(
    body(100),
    'bodyMalformed',
    'The body is not JSON as accepted here: nesting deeper than 100 (at byte 105).',
  );
});

test('an id of a mebibyte is read or refused in linear time', () => {
  const MiB = 2 ** 20;
  const bodies: readonly (readonly [literal: string, id: bigint | undefined])[] = [
    ['1'.repeat(MiB), undefined],
    [`1${'0'.repeat(MiB)}e-${MiB}`, 1n],
    [`0.${'0'.repeat(MiB)}1e${MiB + 1}`, 1n],
    [`1.${'0'.repeat(MiB)}1`, undefined],
    [`1e${'9'.repeat(MiB)}`, undefined],
    [`1e-${'9'.repeat(MiB)}`, undefined],
  ];
  for (const [literal, id] of bodies) {
    const what = `${literal.slice(0, 8)}…${literal.slice(-8)}`;
    const start = process.cpuUsage();
    const plant = parseNewPlant(Buffer.from(`{"id":${literal},"name":""}`));
    const { user, system } = process.cpuUsage(start);
    const ms = (user + system) / 1_000;
    assert.equal(plant instanceof Refusal ? undefined : plant.id, id, what);
    assert(ms < 2_000, `${what}: ${ms} ms of CPU time`);
  }
});

test('a line is a NewPlant with its id in full, and may say more', () => {
  const line = newPlantLine({ id: -(2n ** 63n), name: 'a\n"', tag: undefined });
  assert.equal(line, '{"id":-9223372036854775808,"name":"a\\n\\""}');
  const fuller = newPlantLine({ id: 1n, name: 'a', tag: '' }, { at: 'now' });
  assert.equal(fuller, '{"id":1,"name":"a","tag":"","at":"now"}');
});

test('any plant comes back exactly from its line, and the reply to its create has its name, its tag and nothing else', () => {
  fc.assert(
    fc.property(spelledPlant, ({ plant }) => {
      assert.deepEqual(parseNewPlant(Buffer.from(newPlantLine(plant))), plant);
      assert.equal(newPlantLine(plant).includes('\n'), false);
      const { name, tag } = plant;
      assert.deepEqual(JSON.parse(plantBody(plant)), tag === undefined ? { name } : { name, tag });
    }),
    runs,
  );
});

test('any bytes are read as the plant, or refused with the problem, that the reference finds', () => {
  const tally = new Map<string, number>();
  fc.assert(
    fc.property(hostileBody, ({ bytes }) => {
      const worth = worthOf(bytes);
      const outcome = typeof worth === 'string' ? worth : 'plant';
      tally.set(outcome, (tally.get(outcome) ?? 0) + 1);
      const result = parseNewPlant(bytes);
      assert.deepEqual(result instanceof Refusal ? result.problem : result, worth);
    }),
    { ...runs, numRuns: 2 * runs.numRuns },
  );
  // Otherwise the property above would say little.
  for (const outcome of ['plant', 'bodyMalformed', 'notNewPlant', 'idNotInt64', 'textNotStorable'])
    assert((tally.get(outcome) ?? 0) > runs.numRuns / 20, `${outcome}: ${tally.get(outcome)}`);
});

function bytesOf(before: string, bytes: readonly number[], after: string): Buffer {
  return Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)]);
}

function refusal(body: Buffer): Refusal {
  const result = parseNewPlant(body);
  assert(result instanceof Refusal, `taken for a plant: ${body.toString('latin1')}`);
  return result;
}

function assertRefused(
  body: Buffer,
  problem: ProblemName,
  message: string,
  what = body.toString('latin1'),
): void {
  const result = refusal(body);
  assert.equal(result.problem, problem, what);
  assert.equal(result.message, message, what);
}
