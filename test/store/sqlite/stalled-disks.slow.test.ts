import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { makeAuthority, withoutOpenssl } from '../../helpers/certificates.ts';
import { plant, withLimits } from '../../helpers/faults.ts';
import { mountedDrive } from '../../helpers/mounts.ts';
import { until } from '../../helpers/pause.ts';
import { oneThread, startServer, storePath, takesNoCode, token } from '../../helpers/program.ts';
import { testWith } from '../../helpers/skips.ts';

const test = testWith({ skip: takesNoCode || withoutOpenssl(), timeout: 90_000 });

test('while the drive of a certificate and of the backups does not answer, operators are answered, creates are stored, and SIGTERM ends the service', async (t) => {
  const drive = await mountedDrive(t);
  if (drive === undefined) return;
  const authority = makeAuthority(drive.at, 'authority');
  const ca = readFileSync(authority.root);
  const { certificate, key } = authority.issue('own', ['-addext', 'subjectAltName=IP:127.0.0.1']);
  const folder = join(drive.at, 'backups');
  mkdirSync(folder);
  const server = await startServer(
    t,
    await storePath(t),
    [
      ...[...oneThread, '--backup-to', folder],
      ...['', 'ops-'].flatMap((which) => [
        ...[`--${which}tls-certificate`, certificate, `--${which}tls-key`, key],
      ]),
    ],
    withLimits({
      ...{ tls: { readAgainMs: 100 }, ops: { storeFiguresMs: 20, backupsMs: 20 } },
      jobs: { restMs: 100, lookMs: 100 },
    }),
  );
  const statusOf = async (url: string, body?: object) => {
    const method = body ? 'POST' : 'GET';
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const sent = request(url, { ca, agent: false, method, headers });
    const [reply] = await once(sent.end(body && JSON.stringify(body)), 'response');
    return reply.resume().statusCode;
  };
  await server.logged((log) => log.includes('"a backup was made"'));

  drive.stall();

  await server.logged((log) =>
    /as it is: the disk of .*own.crt, or of its key, does not/.test(log),
  );
  const tasks = `/proc/${server.child.pid}/task`;
  const waiting = (task: string) =>
    /^fuse_|request_wait/.test(readFileSync(`${tasks}/${task}/wchan`, 'utf8'));
  const stalled = async () => {
    await statusOf(`${server.opsUrl}metrics`);
    return readdirSync(tasks).filter(waiting).length;
  };
  // Some of both certificates, the folder and the last backup: a busy machine looks at the others later.
  await until(stalled, (threads) => threads >= 2);
  // More often than there are threads for files.
  for (let id = 1; id <= 12; id += 1) {
    assert.equal(await statusOf(`${server.opsUrl}metrics`), 200);
    assert.equal(await statusOf(server.plantsUrl, plant(id)), 200);
  }
  for (const probe of ['livez', 'readyz'])
    assert.equal(await statusOf(`${server.opsUrl}${probe}`), 200);
  await server.stop();
  assert.equal(server.child.signalCode, 'SIGTERM');
  assert.match(server.stderr(), /"stopped"/);
});
