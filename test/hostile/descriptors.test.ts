import assert from 'node:assert/strict';
import { cpuUs } from '../../bench/process-stats.ts';
import { runProgram, startServer, storePath, token } from '../helpers/program.ts';
import { rawRequest } from '../helpers/raw.ts';
import { testWith } from '../helpers/skips.ts';
import { connectCrowd, untilAnswered } from './crowd.ts';
import { scale } from './scale.ts';

const test = testWith({
  skip: process.platform !== 'linux' && 'file descriptors are only limited in this way on Linux',
});
const variables = { PLANT_STORE_TOKEN: token, OPEN_FILES: '64', PLANT_STORE_OPS_PORT: 'off' };
const plant = (id: number) => rawRequest(`{"id":${id},"name":"Alder"}`);

test('with 64 file descriptors and more clients than that, some are served, and all once connections go', async (t) => {
  const count = scale({ short: 200, long: 2_000 });
  const rounds = scale({ short: 2, long: 20 });
  const server = await startServer(t, await storePath(t), [], variables);
  const pid = server.child.pid ?? 0;

  for (let round = 0; round < rounds; round += 1) {
    const crowd = await connectCrowd(t, server.port, count);
    for (const { socket } of crowd) if (socket.writable) socket.write(plant(round));
    // Connections without a descriptor are closed at once; all others are served, and stay open.
    await Promise.all(crowd.map(untilAnswered));
    const served = crowd.filter(({ received }) => received() !== '');
    assert(served.length >= 8 && served.length < 64, `${served.length} were served`);
    for (const { received } of served) assert.match(received(), /^HTTP\/1.1 200 /);

    // With every connection taken it waits, and does not spin.
    const [cpuBefore, wallBefore] = [cpuUs(pid) ?? 0, performance.now()];
    const late = await connectCrowd(t, server.port, 5);
    await Promise.race(late.map(({ gone }) => gone));
    const wait = scale({ short: 300, long: 2_000 });
    await new Promise((resolve) => setTimeout(resolve, wait));
    const share = ((cpuUs(pid) ?? 0) - cpuBefore) / 1_000 / (performance.now() - wallBefore);
    assert(share < 0.5, `it takes ${share.toFixed(2)} of a core for nothing`);

    for (const { socket } of [...crowd, ...late]) socket.destroy();
    await untilServed(server.port, t);
  }
  assert.equal(await server.stop(), 0);
});

/**
 * A new client may come before the service has seen the end of the earlier connections. A service
 * that looks for ends only at times turns away hundreds until then.
 */
async function untilServed(port: number, owner: Parameters<typeof connectCrowd>[0]): Promise<void> {
  for (let attempts = 1; attempts < 50; attempts += 1) {
    const [member] = await connectCrowd(owner, port, 1);
    if (member === undefined) continue;
    member.socket.write(plant(0));
    await untilAnswered(member);
    member.socket.destroy();
    if (member.received().startsWith('HTTP/1.1 200 ')) return;
  }
  assert.fail('it does not serve again');
}

test('too few file descriptors are an error at the start that says what would do', async (t) => {
  const store = await storePath(t);
  const few = await runProgram(['serve', '--store', `sqlite:${store}`], {
    ...variables,
    OPEN_FILES: '40',
  });

  assert.equal(few.code, 1);
  assert.match(
    few.stderr,
    /^plant-store: 8 connections on 1 threads need 54 file descriptors, and the process may have 40; raise .*ulimit -n/m,
  );
});
