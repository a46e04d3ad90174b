import assert from 'node:assert/strict';
import { once } from 'node:events';
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { type Certificate, makeAuthority, withoutOpenssl } from '../helpers/certificates.ts';
import {
  type Ended,
  oneThread,
  runProgram,
  startProgram,
  startServer,
  temporaryFolder,
  token,
} from '../helpers/program.ts';
import { runHere } from '../helpers/run-here.ts';
import { storedPlants } from '../helpers/store-file.ts';

const skip = withoutOpenssl();
const folder = await temporaryFolder({ after });
const store = join(folder, 'plants.db');
const plants = join(folder, 'plants.ndjson');
writeFileSync(plants, '{"id":1,"name":"Alder"}\n{"id":2,"name":"Oak","tag":"Quercus"}\n');

/** A service that demands a client certificate on both ports. */
async function startMutual() {
  const authority = makeAuthority(folder, 'authority');
  const names = ['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  const { certificate, key } = authority.issue('service', names);
  const flags = ['', 'ops-'].flatMap((prefix) => [
    ...[`--${prefix}tls-certificate`, certificate, `--${prefix}tls-key`, key],
    ...[`--${prefix}tls-client-ca`, authority.root],
  ]);
  const server = await startServer({ after }, store, [...oneThread, ...flags]);
  return {
    there: ['--ops-port', new URL(server.opsUrl).port, '--ops-tls-certificate', certificate],
    url: new URL('.', server.plantsUrl).href,
    root: authority.root,
    operator: authority.issue('operator'),
    stranger: makeAuthority(folder, 'stranger').issue('client'),
  };
}

const mutual = skip === false ? await startMutual() : undefined;

function service() {
  assert(mutual);
  return mutual;
}

const presenting = ({ certificate, key }: Certificate) => [
  ...['--client-certificate', certificate, '--client-key', key],
];

const ofStore = ['--store', `sqlite:${store}`];

function check(...args: string[]): Promise<Ended> {
  return runHere(['healthcheck', ...service().there, ...args]);
}

/** A request that the service refuses, and so remembers. */
async function refusedRequest(): Promise<void> {
  const { url, operator } = service();
  const [cert, key] = [readFileSync(operator.certificate), readFileSync(operator.key)];
  const sent = request(url, { agent: false, rejectUnauthorized: false, cert, key }).end();
  const [reply] = (await once(sent, 'response')) as [IncomingMessage];
  assert.equal(reply.resume().statusCode, 404);
}

/** Starts `send` as a process, because another one must trust the authority. */
function startSend(t: TestContext, ...args: string[]) {
  const { url, root } = service();
  const child = startProgram(['send', plants, '--url', url, '--json', ...args], {
    PLANT_STORE_TOKEN: token,
    NODE_EXTRA_CA_CERTS: root,
  });
  t.after(() => child.kill('SIGKILL'));
  let notes = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (notes += chunk));
  return {
    child,
    async firstNote(): Promise<string> {
      while (!notes.includes('\n')) await once(child.stderr, 'data');
      return notes.slice(0, notes.indexOf('\n'));
    },
  };
}

test('the commands of operators present the client certificate that the service demands', {
  skip,
}, async () => {
  const { there, operator } = service();
  const args = [...there, ...presenting(operator)];
  const health = await runProgram(['healthcheck', ...args]);
  assert.deepEqual([health.code, health.stderr], [0, '']);

  const opened = await runHere(['open', '--print', ...ofStore, ...args]);
  assert.match(opened.stdout, /^https:\/\/127\.0\.0\.1:\d+\/#\/sign-in\?link=/);
  const explained = await runHere(['explain', '000000000000-1', ...ofStore, ...args]);
  assert.match(explained.stderr, /remembers no request with this id/);
});

test('the client certificate of healthcheck comes from variables, as in a container', {
  skip,
}, async () => {
  const { there, operator } = service();
  const { code, stderr } = await runHere(['healthcheck', ...there], {
    PLANT_STORE_CLIENT_CERTIFICATE: operator.certificate,
    PLANT_STORE_CLIENT_KEY: operator.key,
  });
  assert.deepEqual([code, stderr], [0, '']);
});

test('a command says that the service demands a client certificate, and names the flags', {
  skip,
}, async () => {
  const { code, stderr } = await check();
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^plant-store: the service at 127\.0\.0\.1 port \d+ demands a client certificate; name its file with --client-certificate, and the file of its key with --client-key\n$/,
  );
});

test('a command says who has issued a client certificate that the service does not accept', {
  skip,
}, async () => {
  const { code, stderr } = await check(...presenting(service().stranger));
  assert.equal(code, 1);
  assert.match(
    stderr,
    /has closed the connection .*does not accept the client certificate, which CN=stranger has issued; name a certificate of an authority in --ops-tls-client-ca of the service\n$/,
  );
});

test('a command names the file of a client certificate that cannot be used', {
  skip,
}, async () => {
  const { operator, stranger } = service();
  const missing = join(folder, 'missing.crt');
  const cases: [Certificate, RegExp][] = [
    [{ ...operator, certificate: missing }, /cannot read .*missing\.crt \(ENOENT/],
    [{ ...operator, certificate: folder }, /cannot read .* is a folder and not a regular file/],
    [{ ...operator, certificate: plants }, /plants\.ndjson must hold a certificate in PEM/],
    [{ ...operator, key: plants }, /plants\.ndjson must hold a private key in PEM/],
    [{ ...operator, key: stranger.key }, /stranger-client\.key is not the key of .*operator\.crt/],
  ];
  for (const [files, message] of cases) {
    const { code, stderr } = await check(...presenting(files));
    assert.match(stderr, message);
    assert.match(stderr, /; name a certificate that is valid with --client-certificate/);
    assert.equal(code, 1);
  }
  const half = await check('--client-key', operator.key);
  assert.match(half.stderr, /--client-certificate and --client-key must be given together/);
  assert.equal(half.code, 2);
});

test('a command without TLS says that the service takes encrypted connections only', {
  skip,
}, async () => {
  const { code, stderr } = await runHere(['healthcheck', ...service().there.slice(0, 2)]);
  assert.equal(code, 1);
  assert.match(stderr, /takes encrypted connections only; .* with --ops-tls-certificate\n$/);
});

test('tail goes on with a client certificate that is renewed while it runs', {
  skip,
}, async (t) => {
  const { there, operator, stranger } = service();
  const renewed = { certificate: join(folder, 'tail.crt'), key: join(folder, 'tail.key') };
  copyFileSync(operator.certificate, renewed.certificate);
  copyFileSync(operator.key, renewed.key);
  const child = startProgram(['tail', ...ofStore, ...there, ...presenting(renewed)]);
  t.after(() => child.kill('SIGKILL'));
  let notes = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (notes += chunk));
  // The first record shows that the command has signed in.
  const shown = once(child.stdout, 'data');
  await refusedRequest();
  await shown;
  copyFileSync(stranger.key, renewed.key);
  while (!notes.includes('Trying again')) await once(child.stderr, 'data');
  copyFileSync(operator.key, renewed.key);
  while (!notes.includes('answers again')) await once(child.stderr, 'data');
  child.kill('SIGINT');
  await once(child, 'exit');
  assert.match(notes, /^the key in .*tail\.key is not the key of .*tail\.crt; .*Trying again\.$/m);
});

test('send presents a client certificate to the public port', { skip }, async (t) => {
  const { child } = startSend(t, ...presenting(service().operator));
  const [chunk] = await once(child.stdout.setEncoding('utf8'), 'data');
  assert.equal(JSON.parse(chunk).stored, 2);
  assert.deepEqual(await once(child, 'exit'), [0, null]);
  assert.deepEqual(
    storedPlants(store).map(([id]) => id),
    [1n, 2n],
  );
});

test('send says why a service takes no plants without an accepted client certificate', {
  skip,
}, async (t) => {
  assert.match(
    await startSend(t).firstNote(),
    /^A plant was not taken \(the service .*demands a client certificate; .*--client-key\); retrying\.$/,
  );
  assert.match(
    await startSend(t, ...presenting(service().stranger)).firstNote(),
    /not taken \(the service has closed the connection .* CN=stranger has issued; .* in --tls-client-ca of the service\); retrying\.$/,
  );
});

test('doctor tells when a client certificate expires', { skip }, async () => {
  const { operator, stranger } = service();
  const finding = async (files: Certificate) => {
    const { stdout } = await runHere(['doctor', '--json', ...presenting(files)]);
    return stdout.split('\n').find((line) => line.includes('"client-certificate"'));
  };
  assert.match(
    (await finding(operator)) ?? '',
    /"warning","says":".*operator\.crt is for CN=operator, and expires at .*renew the certificate/,
  );
  assert.match(
    (await finding({ ...operator, key: stranger.key })) ?? '',
    /"error","says":".*is not the key of .*no command connects with these files/,
  );
});
