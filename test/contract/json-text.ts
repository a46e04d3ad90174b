import fc from 'fast-check';
import type { NewPlant } from '../../src/contract/plant.ts';

/**
 * What the property tests of the contract are made of: JSON texts whose meaning is known, in every
 * spelling of RFC 8259.
 *
 * The runs are the same every time. For a longer search, `PROPERTY_RUNS=200000 node --test
 * 'test/contract/*.test.ts'` sets the runs of each property (default 400), and `PROPERTY_SEED=7`
 * makes it other ones.
 */
export const runs = {
  numRuns: Number(process.env['PROPERTY_RUNS'] ?? 400),
  seed: Number(process.env['PROPERTY_SEED'] ?? 20_261_120),
};

/** A text, and one way to write it as a JSON string. */
export interface Spelled {
  readonly text: string;
  readonly json: string;
}

const shortEscapes: Readonly<Record<string, string>> = {
  '"': '\\"',
  '\\': '\\\\',
  '/': '\\/',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/** Each character is written as it is, where that is allowed, or with one of its escapes. */
export function spelled(characters: fc.Arbitrary<string>, maxLength = 12): fc.Arbitrary<Spelled> {
  return fc.array(fc.tuple(characters, fc.nat(11)), { maxLength }).map((chosen) => ({
    text: chosen.map(([character]) => character).join(''),
    json: `"${chosen.map(([character, choice]) => spelling(character, choice)).join('')}"`,
  }));
}

function spelling(character: string, choice: number): string {
  const escaped = Array.from(
    { length: character.length },
    (_, index) => `\\u${hex4(character.charCodeAt(index))}`,
  ).join('');
  const ways = [escaped, `\\u${escaped.slice(2).toUpperCase().replaceAll('\\U', '\\u')}`];
  const short = shortEscapes[character];
  if (short !== undefined) ways.push(short);
  if (character >= ' ' && character !== '"' && character !== '\\' && character.isWellFormed())
    ways.push(character);
  return ways[choice % ways.length] as string;
}

function hex4(unit: number): string {
  return unit.toString(16).padStart(4, '0');
}

/**
 * Characters of every kind that a store keeps: all of Unicode but U+0000, those that JSON treats
 * differently more often.
 */
export const storableCharacter = fc.oneof(
  fc.constantFrom(...'"\\/\b\f\n\r\t\u0001\u001f a\u007f\u2028\ufeff\uffff🌱'),
  fc
    .oneof(fc.integer({ min: 1, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
    .map((code) => String.fromCodePoint(code)),
);

/**
 * Those, and those that no store keeps. For strings, `unit: 'binary'` would make a table of all of
 * Unicode, which takes two seconds.
 */
export const anyCharacter = fc.oneof(
  { weight: 9, arbitrary: storableCharacter },
  fc.constantFrom('\0', '\ud83c', '\udf31', '\udfff'),
);

export const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 2 });

const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 25 });
const wholeDigits = digits.map((text) => text.replace(/^0+(?=.)/, ''));

/** A JSON number; its exponent is from -`exponentMax` to `exponentMax`. */
export function numberLiteral(exponentMax: number): fc.Arbitrary<string> {
  const exponent = fc
    .tuple(
      fc.constantFrom('e', 'E'),
      fc.constantFrom('', '+', '-'),
      fc.constantFrom('', '0', '00'),
      fc.nat(exponentMax),
    )
    .map((parts) => parts.join(''));
  return fc
    .tuple(
      fc.constantFrom('', '-'),
      wholeDigits,
      fc.option(
        digits.map((text) => `.${text}`),
        { nil: '' },
      ),
      fc.option(exponent, { nil: '' }),
    )
    .map((parts) => parts.join(''));
}

/** One of the ways to write an integer as a JSON number; `size` is how far it goes. */
export function integerLiteral(value: bigint, way: number, size: number): string {
  const sign = value < 0n ? '-' : '';
  const whole = `${value}`.replace('-', '');
  const zeros = '0'.repeat(size);
  const ways = [
    `${value}`,
    `${value}.0${zeros}`,
    `${value}E-${zeros}0`,
    `${sign}0.${zeros}${whole}e${whole.length + size}`,
    value === 0n ? `-0e-${size}` : `${value}${zeros}e-${size}`,
    `${sign}${whole[0]}.${whole.slice(1)}0E+${whole.length - 1}`,
  ];
  return ways[way % ways.length] as string;
}

/** Any int64, those near its ends and near 2^53 more often. */
export const anyInt64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc
    .tuple(
      fc.constantFrom(-(2n ** 63n), -(2n ** 53n), 0n, 2n ** 53n, 2n ** 63n - 1n),
      fc.bigInt({ min: -20n, max: 20n }),
    )
    .map(([near, by]) => BigInt.asIntN(64, near + by)),
);

/** JSON texts of every form, well within the depth that is allowed. */
export const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => {
  const string = spelled(anyCharacter).map(({ json }) => json);
  const list = (item: fc.Arbitrary<string>) =>
    fc.array(item, { maxLength: 4 }).map((items) => items.join(','));
  const spaced = (item: fc.Arbitrary<string>) =>
    fc.tuple(space, item, space).map((parts) => parts.join(''));
  const member = fc.tuple(spaced(string), tie('value')).map(([name, value]) => `${name}:${value}`);
  return {
    value: spaced(
      fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.oneof(fc.constantFrom('null', 'true', 'false'), numberLiteral(400), string),
        list(tie('value')).map((items) => `[${items === '' ? ' ' : items}]`),
        list(member).map((members) => `{${members}}`),
      ),
    ),
  };
}).value;

/**
 * A plant, and a body for it: the id in any spelling, the text with any escapes, the members in any
 * order among unknown members.
 */
export const spelledPlant: fc.Arbitrary<{ readonly plant: NewPlant; readonly body: string }> = fc
  .record({
    id: anyInt64,
    idLiteral: fc.tuple(fc.nat(5), fc.nat(25)),
    name: spelled(storableCharacter),
    tag: fc.option(spelled(storableCharacter), { nil: undefined }),
    others: fc.uniqueArray(fc.tuple(spelled(fc.constantFrom(...'aéIN_\\"')), jsonText), {
      selector: ([{ text }]) => text,
      maxLength: 3,
    }),
    positions: fc.array(fc.nat(), { minLength: 6, maxLength: 6 }),
    spaces: fc.array(space, { minLength: 6, maxLength: 6 }),
    namesOfMembers: fc.tuple(spelledAs('id'), spelledAs('name'), spelledAs('tag')),
  })
  .map(({ id, idLiteral: [way, size], name, tag, others, positions, spaces, namesOfMembers }) => {
    const [idName, nameName, tagName] = namesOfMembers;
    const members = others.map(([member, value]) => [member.json, value]);
    members.push([idName, integerLiteral(id, way, size)], [nameName, name.json]);
    if (tag !== undefined) members.push([tagName, tag.json]);
    const ordered = members
      .map((member, index) => ({ member, position: positions[index] ?? 0 }))
      .sort((a, b) => a.position - b.position);
    const texts = ordered.map(
      ({ member: [memberName, value] }, index) =>
        `${spaces[index]}${memberName}${spaces[0]}:${spaces[1]}${value}${spaces[2]}`,
    );
    return {
      plant: { id, name: name.text, tag: tag?.text },
      body: `${spaces[3]}{${texts.join(',')}}${spaces[4]}`,
    };
  });

/** The text as a JSON string, each character escaped or not. */
export function spelledAs(text: string): fc.Arbitrary<string> {
  const characters = [...text].map((character) =>
    spelled(fc.constant(character), 1).filter((one) => one.text !== ''),
  );
  return fc
    .tuple(...characters)
    .map((all) => `"${all.map(({ json }) => json.slice(1, -1)).join('')}"`);
}

type Edit = readonly [
  kind: 'insert' | 'remove' | 'replace' | 'double' | 'swap' | 'cut',
  at: number,
  other: string,
];

/** Texts with one to three small edits. @param other what is put into them */
export function edited(
  texts: fc.Arbitrary<string>,
  other: fc.Arbitrary<string>,
): fc.Arbitrary<string> {
  const edit = fc.tuple(
    fc.constantFrom('insert', 'remove', 'replace', 'double', 'swap', 'cut'),
    fc.nat(),
    other,
  );
  return fc
    .tuple(texts, fc.array(edit, { minLength: 1, maxLength: 3 }))
    .map(([text, edits]) => edits.reduce(withEdit, text));
}

function withEdit(text: string, [kind, at, other]: Edit): string {
  const start = at % (text.length + 1);
  const [before, after] = [text.slice(0, start), text.slice(start)];
  switch (kind) {
    case 'insert':
      return before + other + after;
    case 'remove':
      return before + after.slice(1);
    case 'replace':
      return before + other + after.slice(1);
    case 'double':
      return before + text.slice(Math.max(0, start - 4));
    case 'swap':
      return before + after.slice(1, 2) + after.slice(0, 1) + after.slice(2);
    case 'cut':
      return before;
    default:
      return kind satisfies never;
  }
}

/** JSON texts with edits; some of them are JSON still. */
export const editedJsonText = edited(
  jsonText,
  fc.constantFrom(
    ...'{}[]",:\\/.-+eE019utrfalsn \t\n\r\0\u001f\u00a0\ufeff\'#\ud83c',
    ...['\\u', 'null', '//', 'NaN', '""', '{}', ',,'],
  ),
);
