import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runThroughFaults } from './faulty-run.ts';
import { faultNames } from './lying-network.ts';
import { type Runtime, runtimes } from './runtimes.ts';

/** `npm run torture:client` sets more. */
const creates = Number(process.env['CREATES'] ?? 200);
const kills = Math.ceil(creates / 5_000);

for (const [name, runtime] of Object.entries<Runtime>(runtimes)) {
  test(`${name}: ${creates} creates through resets, lies and restarts, and each is reported as it is`, {
    skip: runtime.missing ?? false,
  }, async (t) => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    const began = performance.now();
    const { outcomes, faults, violations } = await runThroughFaults(t, {
      ...{ runtime, creates, kills, seed },
    });
    const seconds = ((performance.now() - began) / 1_000).toFixed(1);
    t.diagnostic(`${seconds} s, seed ${seed}: ${JSON.stringify(Object.fromEntries(outcomes))}`);
    t.diagnostic(JSON.stringify(Object.fromEntries(faults)));
    assert.deepEqual(violations.slice(0, 10), []);
    const codes = ['stored', 'refused 40003', 'refused 40004'];
    assert.deepEqual([...outcomes.keys()].sort(), codes.sort());
    assert.deepEqual([...faults.keys()].sort(), faultNames.toSorted());
  });
}
