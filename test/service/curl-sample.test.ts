import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { curlCommand } from '../../src/api/reference/page/curl.ts';
import { oneThread, startServerOnNewStore, token } from '../helpers/program.ts';
import { storedPlants } from '../helpers/store-file.ts';

test('the sample of the reference page creates the plant, with its exact id', async (t) => {
  const { plantsUrl: address, store } = await startServerOnNewStore(t, ...oneThread);
  const plant = { name: 'O\'Hara "🌲 \\u0041" \\n', tag: '' };
  const body = `{"id":9223372036854775000,${JSON.stringify(plant).slice(1)}`;
  const command = curlCommand({ address, token, body });
  const { stdout } = await promisify(execFile)('bash', ['-c', command]);
  assert.match(stdout, /^Plant-Id: 9223372036854775000\r$/m);
  assert.deepEqual(storedPlants(store), [[9_223_372_036_854_775_000n, plant.name, plant.tag]]);
});
