import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { Secret } from 'kubernetes-models/v1/Secret';
import { Service } from 'kubernetes-models/v1/Service';
import ts from 'typescript';
import { parse, parseAllDocuments } from 'yaml';
import { limits } from '../../src/limits.ts';
import { version } from '../../src/program.ts';
import { listenFor } from '../helpers/free-port.ts';
import { pause } from '../helpers/pause.ts';
import { nameOfDatabase, sharedPostgres } from '../helpers/postgres.ts';
import { oneThread, type RunningServer, startServer, token } from '../helpers/program.ts';

const packaging = join(import.meta.dirname, '../../packaging');
const read = (file: string) => readFileSync(join(packaging, file), 'utf8');
const manifests = parseAllDocuments(read('kubernetes/plant-store.yaml')).map((one) => one.toJS());
const pod = manifests.find(({ kind }) => kind === 'Deployment').spec.template.spec;
const [{ lifecycle, ports, ...container }] = pod.containers;

const kinds = { Secret, Deployment, Service, PodDisruptionBudget, NetworkPolicy };

/** Such as a member with a name that Kubernetes does not have. The schemas allow any. */
function errorsOfTypes(): string[] {
  const path = join(import.meta.dirname, 'manifests.ts');
  const source = manifests.map(
    ({ apiVersion, kind, ...rest }, index) =>
      `export const one${index}: import('kubernetes-models/${apiVersion}/${kind}').I${kind} = ` +
      JSON.stringify({ apiVersion, kind, ...rest }),
  );
  const options = {
    module: ts.ModuleKind.NodeNext,
    strict: true,
    skipLibCheck: true,
    types: [],
    noEmit: true,
  };
  const host = ts.createCompilerHost(options);
  const { getSourceFile } = host;
  host.getSourceFile = (file, target) =>
    file === path
      ? ts.createSourceFile(file, source.join(';\n'), target)
      : getSourceFile(file, target);
  const program = ts.createProgram([path], options, host);
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}

test('the manifests have the form that Kubernetes asks for, and the kinds that a service needs', () => {
  for (const manifest of manifests) {
    const Kind = Reflect.get(kinds, manifest.kind);
    new Kind(manifest).validate();
  }
  assert.deepEqual(errorsOfTypes(), []);
  assert(container.image.endsWith(`:${version}`));
  assert.deepEqual(
    manifests.map(({ kind }) => kind),
    Object.keys(kinds),
  );
});

test('the line that is turned on after the first start is a setting of the service', () => {
  const value = { name: 'PLANT_STORE_NEW_STORE', value: 'never' };
  const turnedOn = read('kubernetes/plant-store.yaml').replace('# - { name', '- { name');
  const deployment = parseAllDocuments(turnedOn).map((one) => one.toJS())[1];
  const [{ env }] = deployment.spec.template.spec.containers;
  assert.deepEqual(
    env.find(({ name }: { name: string }) => name === value.name),
    value,
  );
  for (const file of ['compose.yaml', 'compose.several.yaml']) {
    const text = read(`container/${file}`).replace(
      /# (environment: \{ )?(PLANT_STORE_NEW)/,
      '$1$2',
    );
    const [service] = Object.values<{ environment: object }>(parse(text, { merge: true }).services);
    assert.equal(Object(service?.environment)['PLANT_STORE_NEW_STORE'], 'never', file);
  }
});

test('supervisors wait for longer than a stop may take', () => {
  const { http, service, store, trace } = limits;
  const stopMs = service.drainMs + store.commitMs + http.lingerMs + trace.closeMs;
  const afterPreStop = pod.terminationGracePeriodSeconds - lifecycle.preStop.sleep.seconds;
  assert(afterPreStop * 1_000 > stopMs);
  for (const file of ['compose.yaml', 'compose.several.yaml'])
    for (const { image, stop_grace_period: period = '0s' } of Object.values<{
      image: string;
      stop_grace_period?: string;
    }>(parse(read(`container/${file}`), { merge: true }).services))
      if (image.startsWith('plant-store:'))
        assert(Number.parseInt(period, 10) * 1_000 > stopMs, file);
});

/** Asks as the kubelet does. */
async function probe(
  { opsUrl }: RunningServer,
  name: 'startupProbe' | 'livenessProbe' | 'readinessProbe',
) {
  const { httpGet, timeoutSeconds = 1 } = container[name];
  const named = ports.find((one: { name: string }) => one.name === httpGet.port);
  assert.equal(named.containerPort, 8081);
  const asked = request(new URL(httpGet.path, opsUrl), {
    agent: false,
    headers: { 'User-Agent': 'kube-probe/1.34', Accept: '*/*' },
    timeout: timeoutSeconds * 1_000,
  }).end();
  const [{ statusCode }] = await once(asked, 'response');
  return statusCode >= 200 && statusCode < 400;
}

test('a rolling update, with connections to a node until its preStop ends, fails no request', async (t) => {
  const database = await sharedPostgres({ after });
  const url = await database.makeDatabase();
  const startNode = async () => {
    const node = await startServer(t, url, oneThread);
    while (!(await probe(node, 'startupProbe')) || !(await probe(node, 'readinessProbe')))
      await pause();
    assert(await probe(node, 'livenessProbe'));
    return node;
  };
  const endpoints = [await startNode(), await startNode()];
  const dealt = new EventEmitter();
  let turn = 0;
  // Deals connections out, as a Service does.
  const service = createServer((client) => {
    const { port } = endpoints[(turn += 1) % endpoints.length] as RunningServer;
    dealt.emit(`${port}`);
    const server = connect({ port, host: '127.0.0.1' });
    client.pipe(server).pipe(client);
    client.on('error', () => server.destroy());
    server.on('error', () => client.destroy());
  });
  const port = await listenFor(t, service);
  const outcomes: Record<string, number> = {};
  let id = 0;
  const isOver = new AbortController();
  const client = async (agent: Agent | false) => {
    while (!isOver.signal.aborted) {
      const asked = request({ port, path: '/plants', method: 'POST', agent });
      asked
        .setHeader('Authorization', `Bearer ${token}`)
        .setHeader('Content-Type', 'application/json');
      asked.end(JSON.stringify({ id: (id += 1), name: 'Alder' }));
      const outcome = await once(asked, 'response')
        .then(([reply]) => once(reply.resume(), 'end').then(() => reply.statusCode))
        .catch(({ code }) => code);
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      await pause();
    }
  };
  // An idle connection could close while its client sends.
  const agents = [1, 2, 3].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
  const clients = [false as const, false as const, ...agents].map(client);

  for (const old of [...endpoints]) {
    endpoints.push(await startNode());
    // The time of preStop: connections still come.
    for (let count = 0; count < 20; count += 1) await once(dealt, `${old.port}`);
    endpoints.splice(endpoints.indexOf(old), 1);
    assert.equal(await old.stop('SIGTERM'), 0);
  }

  isOver.abort();
  await Promise.all(clients);
  for (const agent of agents) agent.destroy();
  assert.deepEqual(Object.keys(outcomes), ['200'], JSON.stringify(outcomes));
  const [row] = await database.query('SELECT count(*)::int FROM plants', nameOfDatabase(url));
  assert.equal(row?.['count'], outcomes['200']);
});
