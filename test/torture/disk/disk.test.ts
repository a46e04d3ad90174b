import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import { test } from 'node:test';
import { temporaryFolder } from '../../helpers/program.ts';
import { type Fault, runFaults } from './faults.ts';
import { cutPowerAgainAndAgain } from './power.ts';
import { skipWithoutRecorder } from './trace.ts';

const faults: readonly Fault[] = [
  { kind: 'write', error: 'EIO', nth: 2 },
  { kind: 'write', error: 'ENOSPC', nth: 7 },
  { kind: 'sync', error: 'EIO', nth: 1 },
  { kind: 'checkpoint sync', error: 'EIO', nth: 1 },
];

test(
  'when a write or a sync fails, no plant with a 200 is lost, and the server stops or goes on as promised',
  skipWithoutRecorder(),
  async (t) => {
    const folder = realpathSync(await temporaryFolder(t));
    const seed = Math.floor(Math.random() * 2 ** 24);

    const reports = await runFaults(faults, { folder, seed, report: (line) => t.diagnostic(line) });

    assert.equal(reports.length, faults.length);
    for (const { violations } of reports) assert.deepEqual(violations, [], `seed ${seed}`);
  },
);

test(
  'what was acknowledged is there after each of 9 power cuts, and a server that does not sync is found out',
  skipWithoutRecorder(),
  async (t) => {
    const folder = realpathSync(await temporaryFolder(t));
    const seed = Math.floor(Math.random() * 2 ** 24);
    const lives = ['SIGKILL', 'SIGTERM', 'SIGKILL', 'SIGKILL'] as const;

    const { violations, regimes, moments } = await cutPowerAgainAndAgain({
      folder,
      images: 9,
      seed,
      lives,
      plantsPerLife: 300,
      report: (line) => t.diagnostic(line),
    });

    assert.deepEqual(violations, [], `seed ${seed}; npm run torture:power keeps the recording`);
    // The run is worth something only if all of this has happened in it.
    assert.equal(Object.keys(regimes).length, 6, JSON.stringify(regimes));
    assert(Object.keys(moments).length >= 8, JSON.stringify(moments));
  },
);
