import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startProgress } from '../../src/cli/terminal/progress.ts';

/** A terminal that remembers what it is told, and a clock that can be set. */
function terminalAt(errorsAreOnTerminal: boolean) {
  const told: string[] = [];
  const clock = { ms: 5_000 };
  const terminal = {
    errorsAreOnTerminal,
    note: (line: string) => told.push(line),
    showProgress: (doing: string) => told.push(doing),
  };
  return { told, clock, progress: startProgress(terminal, () => clock.ms) };
}

test('on a terminal there is a bar with rate and time left, not more often than can be read', () => {
  const { told, clock, progress } = terminalAt(true);
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
  assert.equal(progress.finish(2_000), '2,000 plants in 2000.0 s (1 plants/s)');
  assert.equal(told.at(-1), '');
});

test('elsewhere there is a line now and then, without what cannot be known', () => {
  const { told, clock, progress } = terminalAt(false);
  for (; clock.ms <= 26_000; clock.ms += 1_000)
    progress.show({ plants: clock.ms - 5_000, share: undefined });
  assert.deepEqual(told, ['10,000 plants, 1,000 plants/s', '20,000 plants, 1,000 plants/s']);
});
