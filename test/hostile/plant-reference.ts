import assert from 'node:assert/strict';
import type { NewPlant } from '../../src/contract/plant.ts';
import type { ProblemName } from '../../src/contract/problems.ts';

/** What a body is worth: the plant that it must be stored as, to the last digit and character, or the problem that it is refused with. */
export type Worth = NewPlant | Extract<ProblemName, 'notJson' | 'notNewPlant' | 'idNotInt64' | 'textNotStorable'>;

/**
 * Tells it by other means than the service: the grammar of UTF-8 as RFC 3629 prints it, `JSON.parse`, and arithmetic with
 * integers of any size. It is slow, and made to be seen through.
 *
 * A body with several faults has the first of these: it is not JSON as accepted here (not UTF-8, not RFC 8259, nested
 * too deep, a top-level member twice); it is not an object with a number `id`, a string `name` and a string `tag` or
 * none; `id` is not an int64; `name` or `tag` is text that cannot be stored.
 */
export function worthOf(body: Uint8Array): Worth {
  const text = textOf(body);
  if (text === undefined) return 'notJson';
  const { depth, topLevelColons } = outlineOf(text);
  // Too deep is refused whether or not the rest is JSON, and `JSON.parse` would run out of stack.
  if (depth > depthMax) return 'notJson';
  const json = parsed(text);
  if (json === undefined) return 'notJson';
  if (!isObject(json.value)) return 'notNewPlant';
  if (Object.keys(json.value).length !== topLevelColons) return 'notJson';

  const [id, name, tag] = ['id', 'name', 'tag'].map((member) => ownMember(json.value as object, member));
  if (!(id instanceof Literal) || typeof name !== 'string') return 'notNewPlant';
  if (tag !== undefined && typeof tag !== 'string') return 'notNewPlant';
  const int64 = int64Of(id.text);
  if (int64 === undefined) return 'idNotInt64';
  return [name, tag ?? ''].some((one) => unstorable.test(one)) ? 'textNotStorable' : { id: int64, name, tag };
}

const depthMax = 100;
const unstorable = /\0|\p{Surrogate}/u;

/** RFC 3629, §4: the bytes of every character, and no others. Each character of this text is a byte. */
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

/** What stands outside of strings: how deep the brackets go, and how many members the outermost object is given. */
function outlineOf(text: string): { depth: number; topLevelColons: number } {
  const outline = { depth: 0, topLevelColons: 0 };
  let depth = 0;
  let inString = false;
  for (const [token] of text.matchAll(/\\.|["[\]{}:]/gs)) {
    if (token === '"') inString = !inString;
    else if (inString) continue;
    else if (token === '[' || token === '{') outline.depth = Math.max(outline.depth, (depth += 1));
    else if (token === ']' || token === '}') depth -= 1;
    else if (token === ':' && depth === 1) outline.topLevelColons += 1;
  }
  return outline;
}

/** A number as it is spelled. */
class Literal {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** JSON.parse as of ECMAScript 2026, which hands a reviver the source text. TypeScript does not know it yet. */
const parse = JSON.parse as (
  text: string,
  reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
) => unknown;

function parsed(text: string): { readonly value: unknown } | undefined {
  const withLiterals = () => parse(text, (_, value, { source }) => (typeof value === 'number' ? new Literal(source as string) : value));
  return orUndefined(() => ({ value: withLiterals() }));
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Literal);
}

function ownMember(object: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(object, name)?.value;
}

/** The quotient of two integers, where that is one; no power of ten is computed that cannot lead there. */
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

/** Both readers throw at what they cannot read, and that is their answer. */
function orUndefined<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    assert(error instanceof SyntaxError || error instanceof TypeError, 'it is the text that cannot be read');
    return undefined;
  }
}
