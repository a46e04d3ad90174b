import assert from 'node:assert/strict';
import { test } from 'node:test';
import { showSteps } from '../../src/cli/terminal/show-steps.ts';

/** What a terminal of this width, or a file, shows of steps that take a minute each. */
function shownOf(width: number | undefined) {
  const shown: string[] = [];
  let nowMs = 1_000;
  const output = {
    columns: () => width,
    replaceLine: (text: string) => void shown.push(text),
    addLine: (text: string) => void shown.push(`${text}\n`),
  };
  const show = showSteps(output, () => nowMs);
  for (const [step, total, unit] of [
    ['copying', 3 * 2 ** 20, 'bytes'],
    ['comparing', 60_000, 'plants'],
  ] as const) {
    show('checking every page');
    for (let ms = 0; ms <= 60_000; ms += 10) {
      const done = Math.floor((total * ms) / 60_000);
      show(`${step}: ${done}`, { done, total, unit });
      nowMs += 10;
    }
  }
  show('');
  return shown;
}

test('a file has a line every ten seconds, with what is done, the total and the time left', () => {
  const lines = shownOf(undefined);
  assert.deepEqual(lines.slice(0, 2), [
    'copying: 16 %, 512 KiB of 3 MiB, 0:50 left\n',
    'copying: 33 %, 1 MiB of 3 MiB, 0:40 left\n',
  ]);
  assert.match(lines.at(-1) ?? '', /^comparing: \d\d %, [\d,]+ of 60,000 plants, 0:\d\d left\n$/);
  assert.equal(lines.length, 12);
});

test('a terminal has one line that changes ten times a second, and fits the width', () => {
  const lines = shownOf(80);
  assert.equal(lines[0], 'checking every page');
  assert.equal(lines.at(-1), '');
  assert(lines.length > 1_000 && lines.length <= 1_204, `${lines.length}`);
  assert(
    lines.some((line) => /^comparing: 50 %, 30,\d{3} of 60,000 plants, 0:30 left$/.test(line)),
  );
  assert(shownOf(30).includes('comparing: 50 %, 0:30 left'));
});
