import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { skipVisibly } from '../helpers/skips.ts';

const page = readFileSync(new URL('../../docs/operate/command-line.md', import.meta.url), 'utf8');

test('the page of the command line shows how to find the tokens in force that expire within a week', (t) => {
  if (spawnSync('jq', ['--version']).status !== 0) return skipVisibly(t, 'jq is missing');
  const [, program = ''] = /token list --json \| jq -r '([^']+)'/.exec(page) ?? [];
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  const tokens = [
    { name: 'soon', state: 'valid', expiresAt: inDays(3) },
    { name: 'old-secret', state: 'rotated', expiresAt: inDays(1) },
    { name: 'later', state: 'valid', expiresAt: inDays(8) },
    { name: 'forever', state: 'valid' },
    { name: 'gone', state: 'revoked', expiresAt: inDays(3) },
    { name: 'over', state: 'expired', expiresAt: inDays(-1) },
  ];
  const input = tokens.map((token) => JSON.stringify(token)).join('\n');
  const { stdout, stderr } = spawnSync('jq', ['-r', program], { input, encoding: 'utf8' });
  assert.deepEqual([stdout, stderr], ['soon\nold-secret\n', '']);
});
