import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { create, runProgram, startServer, temporaryFolder } from '../helpers/program.ts';

test('a new plant is answered with its name and tag, and is in the store', async (t) => {
  const store = join(await temporaryFolder(t), 'plants.db');
  const { plantsUrl } = await startServer(t, store);

  const reply = await create(plantsUrl, '{"id":9223372036854775807,"name":"Alder","tag":"Alnus"}');

  assert.equal(reply.status, 200);
  assert.equal(await reply.text(), '{"name":"Alder","tag":"Alnus"}');
  const { stdout } = await runProgram(['plants', 'get', '9223372036854775807', '--store', `sqlite:${store}`]);
  assert.equal(stdout, '{"id":9223372036854775807,"name":"Alder","tag":"Alnus"}\n');
});
