import assert from 'node:assert/strict';
import { test } from 'node:test';
import { actorText } from '../../src/access/actor.ts';

test('the name of who changes a token is kept, and a longer one is cut between two characters', () => {
  assert.equal(actorText('https://login.example.org Ёлка'), 'https://login.example.org Ёлка');
  assert.equal(actorText('x'.repeat(200)), 'x'.repeat(200));
  assert.equal(actorText('x'.repeat(201)), `${'x'.repeat(199)}…`);
  const cut = actorText(`x${'🌲'.repeat(150)}`);
  assert(cut.isWellFormed() && cut.length <= 200, cut);
});
