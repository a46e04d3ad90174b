import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { connect as connectPlain } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, type TestContext } from 'node:test';
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import { type Certificate, makeAuthority, withoutOpenssl } from '../helpers/certificates.ts';
import { impatient, withLimits } from '../helpers/faults.ts';
import { freePort } from '../helpers/free-port.ts';
import { until } from '../helpers/pause.ts';
import {
  type Owner,
  oneThread,
  type RunningServer,
  startServer,
  storePath,
  takesNoCode,
  temporaryFolder,
} from '../helpers/program.ts';
import { rawRequest } from '../helpers/raw.ts';
import { failed, on, refused, runHere } from '../helpers/run-here.ts';
import { testWith } from '../helpers/skips.ts';
import { storedToken } from '../helpers/stored-token.ts';

const skip = withoutOpenssl();
const test = testWith({ skip, timeout: 100_000 });
const folder = await temporaryFolder({ after });
const forLocalhost = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
const authority = skip === false ? makeAuthority(folder, 'authority') : undefined;
const ca = authority && readFileSync(authority.root, 'utf8');

/** A certificate of the service, in files of its own that a test may replace. */
function certificateFor(name: string): Certificate {
  assert(authority);
  return authority.issue(name, forLocalhost);
}

/** A certificate that is valid between two times, such as 20200101000000Z. */
function issueFor(name: string, from: string, to: string): Certificate {
  const { key } = certificateFor(name);
  const certificate = join(folder, `${name}.pem`);
  const config = join(folder, `${name}.cnf`);
  writeFileSync(join(folder, 'index.txt'), '');
  writeFileSync(
    config,
    `[ca]\ndefault_ca=own\n[own]\ndatabase=${folder}/index.txt\nnew_certs_dir=${folder}\nrand_serial=yes\ndefault_md=sha256\npolicy=any\n[any]\ncommonName=supplied\n`,
  );
  const request = join(folder, `${name}.csr`);
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'ignore' });
  openssl('req', '-new', '-key', key, '-subj', `/CN=${name}`, '-out', request);
  openssl(
    ...['ca', '-batch', '-config', config, '-selfsign', '-keyfile', key, '-in', request],
    ...['-notext', '-startdate', from, '-enddate', to, '-out', certificate],
  );
  return { certificate, key };
}

const flagsFor = ({ certificate, key }: Certificate, prefix = '') => [
  ...[`--${prefix}tls-certificate`, certificate, `--${prefix}tls-key`, key],
];

async function start(t: Owner, ...args: string[]): Promise<RunningServer> {
  return startServer(t, join(await temporaryFolder(t), 'plants.db'), [...oneThread, ...args]);
}

/** Connects and ends the handshake. */
async function connectTo(
  t: TestContext,
  port: number,
  options: ConnectionOptions = {},
): Promise<TLSSocket> {
  const socket = connect({ port, host: '127.0.0.1', servername: 'localhost', ca, ...options });
  t.after(() => socket.destroy());
  // An error after the last wait of a test changes nothing.
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
}

const plant = (id: number) => rawRequest(`{"id":${id},"name":"Alder"}`);

/** Sends a create, and demands a 200. */
async function createOn(socket: TLSSocket, id: number): Promise<void> {
  assert(!socket.closed, 'closed');
  socket.write(plant(id));
  let reply = '';
  const closed = once(socket, 'close').then(() => assert.fail('closed'));
  while (!reply.endsWith('{"name":"Alder"}'))
    reply += (await Promise.race([once(socket, 'data'), closed]))[0];
  assert.match(reply, /^HTTP\/1\.1 200 OK\r\n/);
}

async function get(url: string): Promise<string> {
  const [reply] = await once(request(url, { ca, agent: false }).end(), 'response');
  return text(reply);
}

/** For tests that leave it with a certificate in force, whose files are these. */
const files = authority && certificateFor('first');
const shared = files && (await start({ after }, ...flagsFor(files)));

test('creates are stored over TLS 1.2 and 1.3, and not over an older version or a weak cipher', async (t) => {
  assert(shared);
  const { port, plantsUrl } = shared;
  assert.match(plantsUrl, /^https:/);
  for (const [index, version] of (['TLSv1.2', 'TLSv1.3'] as const).entries()) {
    const socket = await connectTo(t, port, { minVersion: version, maxVersion: version });
    assert.equal(socket.getProtocol(), version);
    await createOn(socket, index);
    await createOn(socket, index);
  }
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL@SECLEVEL=0' } as const;
  await assert.rejects(connectTo(t, port, old), /alert protocol version/);
  const weak = { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-SHA' } as const;
  await assert.rejects(connectTo(t, port, weak), /alert handshake failure/);
});

test('a client without TLS is told so', async () => {
  assert(shared);
  const socket = connectPlain(shared.port, '127.0.0.1');
  socket.write(plant(1));
  const says =
    /^HTTP\/1\.1 400 .*Connection: close\r\n\r\n\{"error":40006,"message":"This port takes encrypted/s;
  assert.match(await text(socket), says);
});

test('a renewed certificate is taken up at a SIGHUP, and no connection is dropped', async (t) => {
  assert(shared && files);
  const newer = certificateFor('newer');
  const { port, child, logged } = shared;
  const open = await connectTo(t, port);
  await createOn(open, 1);

  copyFileSync(newer.certificate, files.certificate);
  copyFileSync(newer.key, files.key);
  child.kill('SIGHUP');
  await logged((log) => log.includes('a new certificate is in force'));

  await createOn(open, 2);
  assert.equal(open.getPeerCertificate().subject.CN, 'first');
  assert.equal((await connectTo(t, port)).getPeerCertificate().subject.CN, 'newer');
});

test('files that do not fit leave the certificate in force, and the log says why', async (t) => {
  assert(shared && files);
  const { port, child, logged } = shared;
  const before = (await connectTo(t, port)).getPeerCertificate().subject.CN;
  copyFileSync(certificateFor('other').key, files.key);
  child.kill('SIGHUP');
  await logged((log) =>
    /"error".*the certificate stays as it is: the key in .* is not the key of/.test(log),
  );
  assert.equal((await connectTo(t, port)).getPeerCertificate().subject.CN, before);
});

test('a start with files that do not fit is an error that names the file', async () => {
  const [files, other] = [certificateFor('start'), certificateFor('start-other')];
  const empty = join(folder, 'empty.pem');
  writeFileSync(empty, '');
  const past = issueFor('late', '20200101000000Z', '20200102000000Z');
  const missing = join(folder, 'missing.pem');
  const reversed = join(folder, 'reversed.pem');
  writeFileSync(reversed, `${ca}${readFileSync(files.certificate, 'utf8')}`);
  const cases: [readonly string[], RegExp][] = [
    [
      flagsFor({ ...files, key: other.key }),
      /the key in .*start-other\.key is not the key of .*start\.crt/,
    ],
    [
      flagsFor({ ...files, certificate: reversed }),
      /the first certificate in .*reversed\.pem does not belong to the key; put the certificate of/,
    ],
    [flagsFor({ ...files, certificate: missing }), /cannot read .*missing\.pem \(ENOENT/],
    [
      flagsFor({ ...files, key: empty }),
      /empty\.pem must hold a private key in PEM without a password/,
    ],
    [flagsFor(past), /late\.pem has expired at 2020-01-02T00:00:00\.000Z/],
  ];
  const serve = ['serve', '--port', '0', ...on(join(folder, 'never.db'))];
  for (const [flags, says] of cases) await refused(says, ...serve, ...flags);
  const alone = await runHere(['serve', '--tls-certificate', files.certificate]);
  failed(alone, /--tls-certificate has no effect without --tls-key; set both, or none/, 2);
});

test('the port for operators is encrypted by itself, tells when certificates expire, and is known to healthcheck', async (t) => {
  const files = certificateFor('operators');
  const store = await storePath(t);
  const operator = await storedToken(store, 'alice', { role: 'operate' });
  const flags = [...oneThread, ...flagsFor(files, 'ops-')];
  const { opsUrl, plantsUrl } = await startServer(t, store, flags);
  assert.match(plantsUrl, /^http:/);
  const headers = { 'Content-Type': 'application/json' };
  const signIn = request(`${opsUrl}api/session`, { ca, agent: false, method: 'POST', headers });
  const [signedIn] = await once(signIn.end(JSON.stringify({ token: operator })), 'response');
  assert.match(signedIn.headers['set-cookie'][0], /; Secure$/);
  await until(
    () => get(`${opsUrl}readyz`),
    (readiness) => readiness.startsWith('{"ready":true'),
  );
  const { valid_to: end } = (await connectTo(t, Number(new URL(opsUrl).port))).getPeerCertificate();
  assert.match(
    await get(`${opsUrl}metrics`),
    new RegExp(
      `^plant_store_certificate_expires_seconds\\{listener="operators"\\} ${Date.parse(end) / 1_000}$`,
      'm',
    ),
  );
  const asked = ['healthcheck', '--ops-port', new URL(opsUrl).port];
  const healthy = (certificate: string) =>
    runHere([...asked, '--ops-tls-certificate', certificate]);
  assert.equal((await healthy(files.certificate)).code, 0);
  const other = await healthy(certificateFor('unknown').certificate);
  failed(other, /no service answers at .* \(unable to get/);
  failed(
    await runHere(asked),
    /\(This port takes encrypted connections only\..*\); .* its certificate with --ops-tls-cert/,
  );
});

test('doctor knows the certificates', async () => {
  const files = certificateFor('known');
  const examine = async (...flags: string[]) => {
    const { stdout } = await runHere(['doctor', '--json', ...flags]);
    return stdout.split('\n').find((line) => line.includes('certificate')) ?? '';
  };
  const incomplete =
    /"warning","says":".*known.crt lacks the certificate of its issuer, CN=authority; append it/;
  assert.match(await examine(...flagsFor(files)), incomplete);
  writeFileSync(files.certificate, `${readFileSync(files.certificate, 'utf8')}${ca}`);
  const soon =
    /"certificate","level":"warning","says":".*DNS:localhost, IP Address:127.0.0.1, and expires at /;
  assert.match(await examine(...flagsFor(files)), soon);
  const long = issueFor('long', '20200101000000Z', '20990101000000Z');
  assert.match(await examine(...flagsFor(long, 'ops-')), /"ops-certificate","level":"ok"/);
  const past = issueFor('gone', '20200101000000Z', '20200102000000Z');
  assert.match(await examine(...flagsFor(past)), /"error","says":".*has expired at/);
});

/** A service that has little patience, and on both ports a key that all users can read. */
const openFiles = authority && certificateFor('open');
if (openFiles) chmodSync(openFiles.key, 0o644);
const hasty =
  openFiles && !takesNoCode
    ? await startServer(
        { after },
        await storePath({ after }),
        [...oneThread, ...flagsFor(openFiles), ...flagsFor(openFiles, 'ops-')],
        withLimits({ ...impatient, tls: { readAgainMs: 10 } }),
      )
    : undefined;

test('a connection that sends nothing is closed without a reply, before the handshake and behind it', async (t) => {
  if (takesNoCode) return t.skip(takesNoCode);
  assert(hasty);
  const plain = connectPlain(hasty.port, '127.0.0.1');
  assert.equal(await sentBehindHandshake(t, hasty.port), '');
  assert.equal(await text(plain), '');
});

/** On a busy machine, the time of a handshake may pass, and the service cuts it: then another. */
async function sentBehindHandshake(t: TestContext, port: number): Promise<string> {
  for (let tries = 1; ; tries += 1)
    try {
      return await text(await connectTo(t, port));
    } catch (error) {
      if (tries === 10) throw error;
    }
}

test('a key that all users can read or change is told by the start, by each renewal and by doctor, and one of a group is not', async (t) => {
  if (takesNoCode) return t.skip(takesNoCode);
  assert(hasty && openFiles);
  const says = `all users of the machine can read or change the key in ${openFiles.key}; type chmod o= ${openFiles.key}`;
  const { stderr, logged } = hasty;
  const warnings = () => stderr().split(says).length - 1;
  assert.equal(warnings(), 1);
  const renewed = async ({ certificate, key }: Certificate) => {
    const before = stderr().length;
    writeFileSync(openFiles.certificate, readFileSync(certificate));
    writeFileSync(openFiles.key, readFileSync(key));
    await logged((log) => log.slice(before).includes('a new certificate is in force'));
  };
  await renewed(certificateFor('open-newer'));
  assert.equal(warnings(), 2);
  chmodSync(openFiles.key, 0o660);
  await renewed(certificateFor('open-newest'));
  assert.equal(warnings(), 2);

  const examined = async () => (await runHere(['doctor', '--json', ...flagsFor(openFiles)])).stdout;
  assert(!(await examined()).includes('"key"'));
  chmodSync(openFiles.key, 0o602);
  assert((await examined()).includes(`{"check":"key","level":"warning","says":"${says}"}`));
});

test('handshakes that stand still keep no client away, end the oldest beyond their bound, and end with the service', async (t) => {
  if (takesNoCode) return t.skip(takesNoCode);
  const flags = [...oneThread, ...flagsFor(certificateFor('still'))];
  const few = withLimits({ http: { handshakesMax: 5, handshakeMs: 3_600_000 } });
  const server = await startServer(t, await storePath(t), flags, few);
  const still = [];
  for (let index = 0; index < 8; index += 1) {
    const socket = connectPlain(server.port, '127.0.0.1').resume();
    // The service resets a connection of which it has not read everything.
    socket.on('error', () => undefined);
    t.after(() => socket.destroy());
    await once(socket, 'connect');
    // Some begin a handshake: the type and the version of a record.
    if (index % 2) socket.write(Buffer.from([22, 3, 1]));
    still.push(socket);
  }
  const good = await connectTo(t, server.port);
  await createOn(good, 1);
  // The good client was the ninth.
  assert.deepEqual(
    still.map(({ closed }) => closed),
    [true, true, true, true, false, false, false, false],
  );
  assert.equal(await server.stop(), 0);
});

test('handshakes that stand still end before the connections of clients', async (t) => {
  if (takesNoCode) return t.skip(takesNoCode);
  const few = withLimits({ service: { tlsConnectionsMax: 32 }, http: { handshakeMs: 3_600_000 } });
  const flags = flagsFor(certificateFor('half'));
  const { port, opsUrl } = await startServer(t, await storePath(t), flags, few);
  const clients: TLSSocket[] = [];
  const join = async () => {
    clients.push(await connectTo(t, port));
    await createOn(clients.at(-1) as TLSSocket, 1);
  };
  while (clients.length < 14) await join();
  for (let index = 0; index < 40; index += 1) {
    const socket = connectPlain(port, '127.0.0.1').resume();
    socket.on('error', () => undefined);
    t.after(() => socket.destroy());
    await once(socket, 'connect');
  }
  // Before the ends of connections are known, a newcomer may find no room. A 32nd is spare, twice.
  await until(
    async () => (await fetch(`${opsUrl}metrics`)).text(),
    (metrics) => Number(/^plant_store_connections (\d+)$/m.exec(metrics)?.[1]) <= 30,
  );
  await join();
  for (const client of clients) await createOn(client, 1);
});

test('a client that uses one port for connections to two addresses of the machine is served on both', async (t) => {
  const server = await start(t, '--host', '0.0.0.0', ...flagsFor(certificateFor('two')));
  const from = { port: server.port, localAddress: '127.0.0.1', localPort: await freePort() };
  const first = connectPlain({ ...from, host: '127.0.0.1' });
  t.after(() => first.destroy());
  await once(first, 'connect');
  const second = connectPlain({ ...from, host: '127.0.0.2' });
  for (const [index, socket] of [second, first].entries()) {
    const secure = await connectTo(t, server.port, { socket });
    await createOn(secure, index);
  }
});
