import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProgress } from '../../src/cli/terminal/progress.ts';

/** A terminal that remembers what it is told, and a clock that can be set. */
function terminalAt(errorsWidth: number | undefined) {
  const told: string[] = [];
  const clock = { ms: 5_000 };
  const terminal = {
    errorsWidth,
    note: (line: string) => told.push(line),
    showProgress: (doing: string) => told.push(doing),
  };
  return { told, clock, progress: startProgress(terminal, () => clock.ms) };
}

test('on a terminal there is a bar with rate and time left, not more often than can be read', () => {
  const { told, clock, progress } = terminalAt(120);
  for (; clock.ms <= 15_000; clock.ms += 1)
    progress.show({ plants: 1_000 * (clock.ms - 5_000), share: (clock.ms - 5_000) / 4_000_000 });
  assert(told.length > 50 && told.length <= 100, `${told.length}`);
  assert.equal(
    told.at(-1),
    '[....................] 0 %, 10,000,000 plants, 1,000,000 plants/s, 1:06:30 left',
  );
  told.length = 0;
  clock.ms = 2_005_000;
  progress.show({ plants: 2_000_000_000, share: 0.995 });
  assert.deepEqual(told, [
    '[###################.] 99 %, 2,000,000,000 plants, 1,000,000 plants/s, 0:11 left',
  ]);
  assert.equal(progress.finish(2_000), '2,000 plants in 2000.0 s (1 plant/s)');
  assert.equal(progress.finish(1), '1 plant in 2000.0 s (0 plants/s)');
  assert.equal(told.at(-1), '');
});

test('elsewhere there is a line now and then, without what cannot be known', () => {
  const { told, clock, progress } = terminalAt(undefined);
  for (; clock.ms <= 26_000; clock.ms += 1_000)
    progress.show({ plants: clock.ms - 5_000, share: undefined });
  assert.deepEqual(told, ['10,000 plants, 1,000 plants/s', '20,000 plants, 1,000 plants/s']);
});

test('a narrow terminal shows the time left, and as much of the rest as fits', () => {
  const lines = {
    100: '[#########...........] 45 %, 10,000,000 plants, 1,000,000 plants/s, 0:13 left',
    78: '[#########...........] 45 %, 10,000,000 plants, 1,000,000 plants/s, 0:13 left',
    77: '45 %, 10,000,000 plants, 1,000,000 plants/s, 0:13 left',
    50: '45 %, 10,000,000 plants, 0:13 left',
    30: '45 %, 0:13 left',
    12: '0:13 left',
    5: '0:13 left',
  };
  for (const [width, line] of Object.entries(lines)) {
    const { told, clock, progress } = terminalAt(Number(width));
    clock.ms += 10_000;
    progress.show({ plants: 10_000_000, share: 0.45 });
    assert.deepEqual(told, [line], width);
  }
});
