import { limits } from '../limits.ts';
import { excerpt } from './excerpt.ts';

/**
 * A JSON value: strings decoded, numbers as literals (so that no digit is lost), arrays as their
 * text, the members of the outermost object by name, and only the type of all other values.
 */
export type JsonValue =
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'number'; readonly literal: string }
  | { readonly type: 'object'; readonly members: ReadonlyMap<string, JsonValue> }
  | { readonly type: 'array'; readonly text: string }
  | { readonly type: 'boolean' | 'null' };

/**
 * Reads one JSON text (RFC 8259), strictly. Refuses also nesting deeper than
 * `limits.contract.jsonDepthMax`, and a member name twice in the outermost object, however it is
 * escaped. `JSON.parse` accepts both, and rounds integers above 2^53.
 *
 * @returns the first fault, as a string
 */
export function readJson(text: string): JsonValue | string {
  const reader = new JsonReader(text);
  return reader.document() ?? reader.fault;
}

const quote = 0x22;
const comma = 0x2c;
const minus = 0x2d;
const colon = 0x3a;
const openBracket = 0x5b;
const backslash = 0x5c;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

// Sticky expressions match at `lastIndex` only. Each is a rule of RFC 8259.
const numberRule = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const wordRule = /true|false|null/y;
const escapeRule = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

const nestedObject = { type: 'object', members: new Map<string, JsonValue>() } as const;

/**
 * A recursive descent over one text. Each method reads from `position` on and advances it. It
 * returns undefined if it has set `fault`.
 */
class JsonReader {
  fault = '';
  private position = 0;
  private depth = 0;
  private readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  document(): JsonValue | undefined {
    this.skipSpace();
    const value = this.value();
    if (value === undefined) return undefined;
    this.skipSpace();
    if (this.position < this.text.length) return this.unexpected('the end of the text');
    return value;
  }

  private value(): JsonValue | undefined {
    const first = this.text.charCodeAt(this.position);
    if (first === quote) return this.stringValue();
    if (first === minus || (first >= 0x30 && first <= 0x39)) return this.number();
    if (first === openBrace) return this.object();
    if (first === openBracket) return this.array();
    return this.word();
  }

  private object(): JsonValue | undefined {
    if (!this.enter()) return undefined;
    const members = this.depth === 1 ? new Map<string, JsonValue>() : undefined;
    const object: JsonValue = members ? { type: 'object', members } : nestedObject;
    if (this.next(closeBrace)) return this.leave(object);
    do {
      this.skipSpace();
      const nameStart = this.position;
      const name =
        this.text.charCodeAt(nameStart) === quote
          ? this.string()
          : this.unexpected('a member name in quotes');
      if (name === undefined) return undefined;
      if (!this.next(colon)) return this.unexpected('":"');
      this.skipSpace();
      const value = this.value();
      if (value === undefined) return undefined;
      if (members?.has(name))
        return this.fail(`the member ${excerpt(name)} is given a second time`, nameStart);
      members?.set(name, value);
    } while (this.next(comma));
    if (!this.next(closeBrace)) return this.unexpected('"," or "}"');
    return this.leave(object);
  }

  private array(): JsonValue | undefined {
    const start = this.position;
    if (!this.enter()) return undefined;
    if (!this.next(closeBracket)) {
      do {
        this.skipSpace();
        if (this.value() === undefined) return undefined;
      } while (this.next(comma));
      if (!this.next(closeBracket)) return this.unexpected('"," or "]"');
    }
    return this.leave({ type: 'array', text: this.text.slice(start, this.position) });
  }

  private stringValue(): JsonValue | undefined {
    const value = this.string();
    return value === undefined ? undefined : { type: 'string', value };
  }

  private string(): string | undefined {
    const start = this.position;
    let escaped = false;
    this.position += 1;
    for (;;) {
      const unit = this.text.charCodeAt(this.position);
      if (unit === quote) break;
      if (unit === backslash) {
        if (this.match(escapeRule) === undefined) return this.fail('a broken escape in a string');
        escaped = true;
      } else if (unit >= 0x20) {
        this.position += 1;
      } else if (this.position < this.text.length) {
        return this.fail('a control character in a string');
      } else {
        return this.fail('a string without an end', start);
      }
    }
    this.position += 1;
    if (!escaped) return this.text.slice(start + 1, this.position - 1);
    // Cannot throw, because the grammar has been checked. Only a string by itself: within an
    // object, V8 14.6 confuses an escaped name with a name of an earlier text (nodejs/node#63785).
    return JSON.parse(this.text.slice(start, this.position)) as string;
  }

  private number(): JsonValue | undefined {
    const literal = this.match(numberRule);
    return literal === undefined ? this.fail('a broken number') : { type: 'number', literal };
  }

  private word(): JsonValue | undefined {
    const word = this.match(wordRule);
    if (word === undefined) return this.unexpected('a value');
    return { type: word === 'null' ? 'null' : 'boolean' };
  }

  private match(rule: RegExp): string | undefined {
    rule.lastIndex = this.position;
    const matched = rule.exec(this.text)?.[0];
    this.position += matched?.length ?? 0;
    return matched;
  }

  /** Skips white space, and then `unit` if it is next. */
  private next(unit: number): boolean {
    this.skipSpace();
    if (this.text.charCodeAt(this.position) !== unit) return false;
    this.position += 1;
    return true;
  }

  private skipSpace(): void {
    for (;;) {
      const unit = this.text.charCodeAt(this.position);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return;
      this.position += 1;
    }
  }

  private enter(): boolean {
    this.depth += 1;
    if (this.depth > limits.contract.jsonDepthMax) {
      this.fail(`nesting deeper than ${limits.contract.jsonDepthMax}`);
      return false;
    }
    this.position += 1;
    return true;
  }

  private leave(value: JsonValue): JsonValue {
    this.depth -= 1;
    return value;
  }

  private unexpected(expected: string): undefined {
    if (this.position >= this.text.length)
      return this.fail(`the text ends where ${expected} is expected`);
    return this.fail(
      `${excerpt(String.fromCodePoint(this.text.codePointAt(this.position) ?? 0))} where ` +
        `${expected} is expected`,
    );
  }

  private fail(what: string, position = this.position): undefined {
    // `position` counts UTF-16 units; clients count the bytes that they have sent.
    this.fault = `${what} (at byte ${Buffer.byteLength(this.text.slice(0, position)) + 1})`;
  }
}
