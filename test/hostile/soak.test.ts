import assert from 'node:assert/strict';
import { lstatSync, readdirSync, readlinkSync } from 'node:fs';
import { test } from 'node:test';
import { rssBytes } from '../../bench/process-stats.ts';
import { pause } from '../helpers/pause.ts';
import { oneThread, startServer, storePath } from '../helpers/program.ts';
import { rawRequest } from '../helpers/raw.ts';
import { reset } from '../helpers/reset.ts';
import { connectCrowd } from './crowd.ts';
import { letGoodClientsCreate } from './good-clients.ts';
import { scale } from './scale.ts';

const skip =
  process.platform === 'linux'
    ? false
    : 'memory and file descriptors of a process are read from /proc';

const plant = '{"id":1,"name":"Alder"}';
const chunked = { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' };

/** What a client may send before it is gone: each in another way wrong, or cut short. */
const abuses: readonly Uint8Array[] = [
  rawRequest(plant, { fields: { Authorization: 'Bearer wrong' } }),
  rawRequest(plant, { fields: { Authorization: ['Bearer a', 'Bearer b'] } }),
  rawRequest(plant.slice(0, -1)),
  rawRequest('[1e400,"\\ud800"]'.repeat(50)),
  rawRequest(`{"id":2,"name":"${'x'.repeat(100_000)}"}`, {
    fields: { 'Content-Length': '2000000' },
  }),
  rawRequest(`zz\r\n${plant}`, { fields: chunked }),
  rawRequest(`10\r\n${plant}`, { fields: chunked }),
  rawRequest(plant, { fields: { 'Content-Length': '5000' } }),
  rawRequest(plant, { fields: { Expect: 'the-unexpected' } }),
  rawRequest(plant, { fields: { Upgrade: 'websocket', Connection: 'upgrade' } }),
  rawRequest(plant, { fields: { 'X-Large': 'x'.repeat(20_000) } }),
  rawRequest(plant, { method: 'BREW' }),
  rawRequest(plant).subarray(0, 40),
  Buffer.concat(Array.from({ length: 200 }, () => rawRequest(plant))),
  Buffer.from('CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n'),
  Buffer.from('16030102000100', 'hex'),
  Buffer.alloc(100_000),
];

function openWals(pid: number | undefined): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((name) => {
    const link = `${folder}/${name}`;
    // A descriptor may be closed meanwhile.
    return lstatSync(link, { throwIfNoEntry: false }) && readlinkSync(link).endsWith('-wal');
  }).length;
}

test('after abuse of every kind it has no more connections or memory than before, and serves', {
  skip,
  timeout: scale({ short: 30_000, long: 900_000 }),
}, async (t) => {
  const server = await startServer(t, await storePath(t), oneThread);
  const { pid } = server.child;
  const memoryMiB = () => (rssBytes(pid ?? 0) ?? Number.NaN) / 2 ** 20;
  const descriptors = () => readdirSync(`/proc/${pid}/fd`).length;
  // The thread for checkpoints opens its file after the start. Two threads write, with two each.
  while (openWals(pid) < 5) await pause();
  const before = descriptors();
  const forMs = scale({ short: 1_500, long: 600_000 });
  const start = performance.now();
  const samplesMiB: number[] = [];
  let count = 0;

  while (performance.now() - start < forMs) {
    const crowd = await connectCrowd({ after: () => undefined }, server.port, 100);
    for (const [index, { socket }] of crowd.entries()) {
      const abuse = abuses[(count + index) % abuses.length] ?? '';
      // Some wait for an answer, some leave at once.
      socket.write(abuse, () => (index % 3 === 0 ? reset(socket) : socket.end()));
      if (index % 3 === 1) socket.setTimeout(200, () => socket.destroy());
    }
    await Promise.all(crowd.map(({ gone }) => gone));
    count += crowd.length;
    samplesMiB.push(memoryMiB());
  }
  const { acknowledged } = await letGoodClientsCreate(server, { connections: 4, measureMs: 100 });

  assert(acknowledged > 0);
  // The last of them may still be closing. If that never comes to an end, the test does.
  while (descriptors() > before) await pause();
  assert.equal(server.child.exitCode, null);
  assert.doesNotMatch(server.stderr(), /"level":"(error|fatal)"/);
  // The first part of the time is growing caches and compiled code.
  const quarter = Math.ceil(samplesMiB.length / 4);
  const [early, late] = [
    Math.max(...samplesMiB.slice(quarter, 2 * quarter)),
    Math.max(...samplesMiB.slice(-quarter)),
  ];
  if (scale({ short: false, long: true }))
    assert(late < early * 1.2, `memory grew from ${early} to ${late} MiB`);
});
