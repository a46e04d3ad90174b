import assert from 'node:assert/strict';
import { isLosslessNumber, parse } from 'lossless-json';
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
 * Tells it by other means than the service: `lossless-json` for the grammar of RFC 8259 and the
 * spelling of numbers, and arithmetic with integers of any size. It is slow, and made to be seen
 * through.
 *
 * A body with several faults has the first of these: it is not JSON as accepted here (not UTF-8,
 * not RFC 8259, nested too deep, a top-level member twice); it is not an object with a number `id`,
 * a string `name` and a string `tag` or none; `id` is not an int64; `name` or `tag` is text that
 * cannot be stored.
 */
export function worthOf(body: Uint8Array): Worth {
  const text = orUndefined(() => decoder.decode(body));
  if (text === undefined) return 'bodyMalformed';
  const { depth, topLevelColons } = outlineOf(text);
  // Too deep is refused whether or not the rest is JSON, and the parser would run out of stack.
  if (depth > depthMax) return 'bodyMalformed';
  const json = orUndefined(() => ({ value: parse(text, undefined, { onDuplicateKey }) }));
  if (json === undefined) return 'bodyMalformed';
  const { value } = json;
  if (!isObject(value)) return 'notNewPlant';
  if (Object.keys(value).length !== topLevelColons) return 'bodyMalformed';

  const members = new Map(Object.entries(value));
  const [id, name, tag] = [members.get('id'), members.get('name'), members.get('tag')];
  if (!isLosslessNumber(id) || typeof name !== 'string') return 'notNewPlant';
  if (tag !== undefined && typeof tag !== 'string') return 'notNewPlant';
  const int64 = int64Of(id.value);
  if (int64 === undefined) return 'idNotInt64';
  return [name, tag ?? ''].some((one) => unstorable.test(one))
    ? 'textNotStorable'
    : { id: int64, name, tag };
}

const depthMax = 100;
const unstorable = /\0|\p{Surrogate}/u;

/** A byte order mark stays in the text, where it is no JSON (RFC 8259, §8.1). */
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** In an object that is ignored, a member may come twice. */
const onDuplicateKey = ({ newValue }: { readonly newValue: unknown }) => newValue;

/** How deep the brackets go, and how many members the outermost object is given. */
function outlineOf(text: string) {
  let [depth, depthReached, topLevelColons] = [0, 0, 0];
  const withoutStrings = text.replaceAll(/"(?:\\.|[^"\\])*("|$)/gs, '');
  for (const token of withoutStrings.match(/[[\]{}:]/g) ?? [])
    if (token === '[' || token === '{') depthReached = Math.max(depthReached, (depth += 1));
    else if (token === ']' || token === '}') depth -= 1;
    else if (depth === 1) topLevelColons += 1;
  return { depth: depthReached, topLevelColons };
}

function isObject(value: unknown): value is object {
  const isOther = Array.isArray(value) || isLosslessNumber(value);
  return typeof value === 'object' && value !== null && !isOther;
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
