import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { excerpt } from '../../src/contract/excerpt.ts';
import { limits } from '../../src/limits.ts';

const most = limits.contract.excerptCharsMax;

test('a short text is shown whole, in quotes and on one line', () => {
  for (const text of ['', 'PUT', 'é🌱', '"\\/\n\u0000\ud800', 'x'.repeat(most)]) {
    assert.equal(excerpt(text), JSON.stringify(text));
  }
});

test('of a long text the start is shown, and that there is more', () => {
  assert.equal(excerpt('x'.repeat(most + 1)), `"${'x'.repeat(most)}…"`);
  assert.equal(excerpt('x'.repeat(1_000_000)), `"${'x'.repeat(most)}…"`);
});

test('no character and no escape is cut in two', () => {
  assert.equal(excerpt(`${'x'.repeat(most - 1)}🌱`), `"${'x'.repeat(most - 1)}…"`);
  assert.equal(excerpt(`${'x'.repeat(most - 1)}\n`), `"${'x'.repeat(most - 1)}…"`);
  assert.equal(excerpt(`${'x'.repeat(most - 2)}\n`), `"${'x'.repeat(most - 2)}\\n"`);
});

test('what cannot be seen is escaped, so that it gives no orders to a terminal', () => {
  assert.equal(
    excerpt('\u009b2J\u007f\u202e\u2028\ufeff\u{e0001}'),
    '"\\u009b2J\\u007f\\u202e\\u2028\\ufeff\\udb40\\udc01"',
  );
});

test('an excerpt is the start of the text, and has at most the given number of visible characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 2 * most }), (text) => {
      const [, shown = '', more] = /^"(.*?)(…?)"$/u.exec(excerpt(text)) ?? [];
      assert(shown.length <= most);
      assert.doesNotMatch(shown, /[\p{C}\p{Zl}\p{Zp}]/u);
      const start = JSON.parse(`"${shown}"`);
      assert(more === '…' ? text.startsWith(start) : text === `${start}${more}`);
    }),
  );
});
