import assert from 'node:assert/strict';
import type { NewPlant } from '../../src/contract/plant.ts';
import type { ProblemName } from '../../src/contract/problems.ts';

/**
 * What a body is worth: the plant that it must be stored as, to the last digit and character, or
 * the problem that it is refused with.
 */
export type Worth =
  | NewPlant
  | Extract<ProblemName, 'bodyMalformed' | 'notNewPlant' | 'idNotInt64' | 'textNotStorable'>;

/**
 * Tells it by other means than the service: the grammar of UTF-8 as RFC 3629 prints it,
 * `JSON.parse` for the structure, and arithmetic with integers of any size. It is slow, and made to
 * be seen through.
 *
 * A body with several faults has the first of these: it is not JSON as accepted here (not UTF-8,
 * not RFC 8259, nested too deep, a top-level member twice); it is not an object with a number `id`,
 * a string `name` and a string `tag` or none; `id` is not an int64; `name` or `tag` is text that
 * cannot be stored.
 */
export function worthOf(body: Uint8Array): Worth {
  const text = textOf(body);
  const outline = text === undefined ? undefined : orUndefined(() => outlineOf(text));
  // Too deep is refused whether or not the rest is JSON, and `JSON.parse` would run out of stack.
  if (outline === undefined || outline.depth > depthMax) return 'bodyMalformed';
  const json = orUndefined(() => ({
    value: parse(outline.coded, (_, value, { source }) => leafOf(value, source as string)),
  }));
  if (json === undefined) return 'bodyMalformed';
  if (!isObject(json.value)) return 'notNewPlant';
  if (Object.keys(json.value).length !== outline.topLevelColons) return 'bodyMalformed';

  const members: Readonly<Record<string, unknown>> = json.value;
  const [id, name, tag] = [members[code('id')], members[code('name')], members[code('tag')]];
  if (!(id instanceof Literal) || typeof name !== 'string') return 'notNewPlant';
  if (tag !== undefined && typeof tag !== 'string') return 'notNewPlant';
  const int64 = int64Of(id.text);
  if (int64 === undefined) return 'idNotInt64';
  return [name, tag ?? ''].some((one) => unstorable.test(one))
    ? 'textNotStorable'
    : { id: int64, name, tag };
}

const depthMax = 100;
const unstorable = /\0|\p{Surrogate}/u;

/** RFC 3629, §4: exactly the bytes of every character. Each character of this text is a byte. */
const utf8Characters = new RegExp(
  [
    '[\\x00-\\x7f]+',
    '[\\xc2-\\xdf][\\x80-\\xbf]',
    '\\xe0[\\xa0-\\xbf][\\x80-\\xbf]',
    '[\\xe1-\\xec\\xee\\xef][\\x80-\\xbf]{2}',
    '\\xed[\\x80-\\x9f][\\x80-\\xbf]',
    '\\xf0[\\x90-\\xbf][\\x80-\\xbf]{2}',
    '[\\xf1-\\xf3][\\x80-\\xbf]{3}',
    '\\xf4[\\x80-\\x8f][\\x80-\\xbf]{2}',
  ].join('|'),
  'g',
);

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A byte order mark stays in the text, where it is no JSON (RFC 8259, §8.1). */
function textOf(body: Uint8Array): string | undefined {
  const isUtf8 = Buffer.from(body).toString('latin1').replace(utf8Characters, '') === '';
  const text = orUndefined(() => decoder.decode(body));
  assert.equal(text !== undefined, isUtf8, 'the two readings of RFC 3629 agree');
  return text;
}

interface Outline {
  /** How deep the brackets go. */
  readonly depth: number;
  /** How many members the outermost object is given. */
  readonly topLevelColons: number;
  /** The text with every string in code. */
  readonly coded: string;
}

/** @throws SyntaxError for a string that is none, or has no end */
function outlineOf(text: string): Outline {
  let [depth, depthReached, topLevelColons] = [0, 0, 0];
  let coded = '';
  let codedTo = 0;
  let stringStart: number | undefined;
  for (const { 0: token, index } of text.matchAll(/\\.|["[\]{}:]/gs)) {
    if (token === '"' && stringStart === undefined) {
      stringStart = index;
      coded += text.slice(codedTo, stringStart);
    } else if (token === '"' && stringStart !== undefined) {
      coded += `"${code(unescaped(text.slice(stringStart + 1, index)))}"`;
      codedTo = index + 1;
      stringStart = undefined;
    } else if (stringStart !== undefined) continue;
    else if (token === '[' || token === '{') depthReached = Math.max(depthReached, (depth += 1));
    else if (token === ']' || token === '}') depth -= 1;
    else if (token === ':' && depth === 1) topLevelColons += 1;
  }
  if (stringStart !== undefined) throw new SyntaxError('a string has no end');
  return { depth: depthReached, topLevelColons, coded: coded + text.slice(codedTo) };
}

const escapes = new Map(
  [...'"\\/bfnrt'].map((letter, index) => [letter, '"\\/\b\f\n\r\t'[index] as string]),
);

/** RFC 8259, §7. @throws SyntaxError */
function unescaped(string: string): string {
  if (/[^ -\uffff]/.test(string)) throw new SyntaxError('a control character is not escaped');
  return string.replace(
    /\\(?:u([0-9A-Fa-f]{4})|(.))/gs,
    (written, hex?: string, letter?: string) => {
      if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
      const meant = escapes.get(letter as string);
      if (meant === undefined) throw new SyntaxError(`${written} is no escape`);
      return meant;
    },
  );
}

/**
 * A text in hexadecimal, in which nothing needs an escape. `JSON.parse` of V8 14.6 reads an escaped
 * member name wrongly if an earlier text has had a name in its place that starts with a backslash
 * (nodejs/node#63785).
 */
function code(text: string): string {
  return `x${Buffer.from(text, 'utf16le').toString('hex')}`;
}

function decoded(coded: string): string {
  return Buffer.from(coded.slice(1), 'hex').toString('utf16le');
}

/** A number as it is spelled. */
class Literal {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/**
 * JSON.parse as of ECMAScript 2026, which hands a reviver the source text. TypeScript does not know
 * it yet.
 */
const parse = JSON.parse as (
  text: string,
  reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;

function leafOf(value: unknown, source: string): unknown {
  if (typeof value === 'number') return new Literal(source);
  return typeof value === 'string' ? decoded(value) : value;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return (
    typeof value === 'object' &&
    value !== null &&
    !Array.isArray(value) &&
    !(value instanceof Literal)
  );
}

/**
 * The quotient of two integers, where that is one; no power of ten is computed that cannot lead
 * there.
 */
function int64Of(literal: string): bigint | undefined {
  const [mantissa = '', exponent = '0'] = literal.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const numerator = BigInt(`${whole}${fraction}`);
  const power = BigInt(exponent) - BigInt(fraction.length);
  if (numerator === 0n) return 0n;
  if (power > 19n || -power > mantissa.length) return undefined;
  const denominator = power < 0n ? 10n ** -power : 1n;
  if (numerator % denominator !== 0n) return undefined;
  const value = power < 0n ? numerator / denominator : numerator * 10n ** power;
  return BigInt.asIntN(64, value) === value ? value : undefined;
}

/** Readers throw at what they cannot read, and that is their answer. */
function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    assert(
      error instanceof SyntaxError || error instanceof TypeError,
      'it is the text that cannot be read',
    );
    return undefined;
  }
}
