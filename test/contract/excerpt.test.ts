import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { excerpt } from '../../src/contract/excerpt.ts';
import { limits } from '../../src/limits.ts';

const most = limits.excerptCharsMax;

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

test('any text is shown in at most so many characters, as the start of what JSON makes of it', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 2 * most }), (text) => {
      const [, shown = '', more] = /^"(.*?)(…?)"$/s.exec(excerpt(text)) ?? [];
      assert(shown.length <= most);
      assert(JSON.stringify(text).startsWith(`"${shown}`));
      assert.equal(more === '', excerpt(text) === JSON.stringify(text));
    }),
  );
});
