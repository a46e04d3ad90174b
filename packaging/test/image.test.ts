import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { after, test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import { litestreamProgram, whyNoLitestream } from '../../test/helpers/litestream.ts';
import { skipVisibly } from '../../test/helpers/skips.ts';
import { firstPlant, shownIn } from './shown.ts';

/*
 * The container image and the compose files in `release/`, with Podman in the place of Docker, which
 * needs no daemon. Needs root, Podman, podman-compose, and the ports 8080 and 8081.
 */

const archive = resolve(`release/plant-store-${manifest.version}-amd64.oci.tar`);
const folder = mkdtempSync(join(tmpdir(), 'plant-store-container-'));
const place = join(folder, 'garden');
mkdirSync(place);
copyFileSync(archive, join(place, basename(archive)));
for (const name of globSync(['compose*.yaml', 'litestream.yml'], { cwd: 'release' }))
  copyFileSync(resolve('release', name), join(place, name));

writeFileSync(
  join(folder, 'containers.conf'),
  `[containers]
default_ulimits = ["nofile=20000:20000", "nproc=1024:1024"]
[engine]
cgroup_manager = "cgroupfs"
runtime = "runc"
`,
);
writeFileSync(
  join(folder, 'storage.conf'),
  `[storage]
driver = "vfs"
graphroot = "${folder}/storage"
runroot = "${folder}/run"
`,
);

/** Waits for the service as `docker compose up --wait` does. */
const docker = `
docker() {
  case "$*" in
    'compose up --wait')
      podman-compose up --detach 2> up.log || { cat up.log; return 1; }
      until docker compose exec plant-store plant-store healthcheck > health.log 2>&1; do sleep 0.1; done ;;
    compose*) shift; podman-compose "$@" ;;
    *) podman "$@" ;;
  esac
}
`;

function run(script: string): string {
  return execFileSync('bash', ['-euc', `${docker}\n${script}`], {
    cwd: place,
    env: {
      ...process.env,
      CONTAINERS_CONF: join(folder, 'containers.conf'),
      CONTAINERS_STORAGE_CONF: join(folder, 'storage.conf'),
      POSTGRES_PASSWORD: 'only to read the file',
      LITESTREAM_REPLICA: 'file:///data/replica',
    },
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

const inContainer = (command: string) =>
  run(`docker compose exec -T plant-store plant-store ${command}`);

const both = 'docker compose --file compose.yaml --file compose.litestream.yaml';

after(() => {
  run(`${both} down --volumes`);
  rmSync(folder, { recursive: true });
});

test('the commands of the page lead to the first plant', () => {
  const output = run(shownIn('Container image'));
  assert(output.endsWith(firstPlant), output);
  assert.match(inContainer('plants get 1'), /^\{"id":1,"name":"Alder","tag":"Alnus","createdAt":/);
});

test('the service proves itself in the container, on a root that is read-only, and without rights', () => {
  assert.match(inContainer('prove'), /^verdict {3}passed/m);
  const [container] = JSON.parse(run('docker inspect "$(docker ps --quiet)"'));
  assert.equal(container.Config.User, '10001:10001');
  assert.equal(container.HostConfig.ReadonlyRootfs, true);
  const labels = container.Config.Labels;
  assert.equal(labels['org.opencontainers.image.version'], manifest.version);
  assert.match(labels['org.opencontainers.image.revision'], /^[0-9a-f]{40}$/);
  assert.deepEqual([container.BoundingCaps, container.EffectiveCaps], [null, null]);
  assert.deepEqual(
    container.Mounts.map(({ Destination }: { Destination: string }) => Destination).sort(),
    ['/data', '/run/secrets/plant-store-token'],
  );
});

test('a health check tells a service that answers from one that does not', () => {
  assert.match(inContainer('healthcheck'), /^ok {2}writes: /);
  assert.throws(() => inContainer('healthcheck --ops-port 1'), /no service answers/);
});

test('a stop ends the service in order, and the plants stay in the volume', () => {
  run('docker compose stop');
  assert.match(run('docker compose logs plant-store 2>&1'), /"msg":"stopped"/);
  // The line of the page that is turned on after the first start.
  run(
    "sed -i 's/# environment: /environment: /' compose.yaml; grep -q '^    environment: ' compose.yaml",
  );
  run('docker compose up --wait');
  assert.equal(inContainer('plants count'), '1\n');
});

test('compose.litestream.yaml follows the store in the volume', (t) => {
  const why = whyNoLitestream();
  if (why !== undefined) return skipVisibly(t, why);
  copyFileSync(litestreamProgram, join(place, 'litestream'));
  writeFileSync(
    join(place, 'Containerfile'),
    'FROM scratch\nCOPY litestream /usr/local/bin/\nENTRYPOINT ["/usr/local/bin/litestream"]\n',
  );
  const restore = `${both} exec -T litestream litestream restore -o /data/restored.db $LITESTREAM_REPLICA`;
  run(`docker build --quiet --tag litestream/litestream:0.5.18 .
    ${both} up --detach litestream
    until ${restore}; do sleep 0.1; done > restore.log 2>&1`);
  assert.equal(inContainer('plants count --store sqlite:/data/restored.db'), '1\n');
});

test('the image has no shell, and is small', () => {
  assert.throws(() => run('docker compose exec plant-store sh'), /executable file .* not found/);
  assert(statSync(archive).size <= 60_000_000);
});

test('compose.several.yaml is sound', () => {
  assert.match(run('docker compose --file compose.several.yaml config'), /^services:$/m);
});
