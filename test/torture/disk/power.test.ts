import assert from 'node:assert/strict';
import { realpathSync } from 'node:fs';
import { test } from 'node:test';
import { temporaryFolder } from '../../helpers/program.ts';
import { cutPowerAgainAndAgain } from './power.ts';
import { skipWithoutRecorder } from './trace.ts';

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
