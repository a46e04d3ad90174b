import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { packClient } from './client.ts';
import { buildImage } from './container.ts';
import { buildDebianPackage, debianVersion } from './debian.ts';
import { buildExecutable, type PlatformName, platforms } from './executable.ts';
import { licences } from './licences.ts';
import { softwareBill } from './software-bill.ts';

/*
 * Builds everything that is published into `release/`, as root, twice, and compares the bytes.
 * `--once` builds once, and `--platforms linux-x64` for some platforms only.
 */

/** The Debian package of a tool that has another name. */
const packageOf: Readonly<Record<string, string>> = {
  'aarch64-linux-gnu-strip': 'binutils-aarch64-linux-gnu',
  'dpkg-deb': 'dpkg',
  'x86_64-linux-gnu-strip': 'binutils-x86-64-linux-gnu',
};

const { values: options } = parseArgs({
  options: { once: { type: 'boolean' }, platforms: { type: 'string' } },
});
const wanted = (options.platforms?.split(',') ?? Object.keys(platforms)) as PlatformName[];

// The first step that needs them is minutes away.
const missing = missingTools();
if (missing.length > 0) {
  const packages = missing.map((tool) => packageOf[tool] ?? tool).join(' ');
  console.error(`A release needs ${missing.join(', ')}, which this machine lacks.
  On Debian, root types: apt-get install ${packages}
  For this platform only, without a second build: npm run release -- --once --platforms linux-x64`);
  process.exit(1);
}

const [folder, again] = ['release', 'release-again'];
for (const old of [folder, again]) rmSync(old, { recursive: true, force: true });
await build(folder);
if (!options.once) compare(folder, await build(again));
writeFileSync(
  join(folder, 'SHA256SUMS'),
  execFileSync('sha256sum', readdirSync(folder).sort(), { cwd: folder }),
);

function missingTools(): string[] {
  const needed = wanted.flatMap((name) => {
    const platform = platforms[name];
    return 'strip' in platform ? ['buildah', 'dpkg-deb', 'mmdebstrap', platform.strip] : [];
  });
  return [...new Set(needed)].filter((tool) => spawnSync(tool, ['--version']).error);
}

async function build(output: string): Promise<string> {
  mkdirSync(output);
  const epoch = Number(run('git', ['log', '-1', '--format=%ct']));
  const to = (name: string) => resolve(output, name);
  run('npm', ['run', 'build']);
  run('npm', ['pack', './dist', '--pack-destination', output]);
  await packClient(output);
  for (const name of wanted) await buildFor(name, epoch, to);
  for (const name of ['compose.yaml', 'compose.several.yaml', 'compose.litestream.yaml'])
    copyFileSync(join('packaging/container', name), to(name));
  copyFileSync('packaging/litestream.yml', to('litestream.yml'));
  copyFileSync('packaging/kubernetes/plant-store.yaml', to('plant-store.yaml'));
  writeFileSync(to('plant-store.cdx.json'), softwareBill(epoch));
  return output;
}

/** Builds what runs on one platform. @param to the path of a file in the release */
async function buildFor(name: PlatformName, epoch: number, to: (file: string) => string) {
  const { version } = manifest;
  const platform = platforms[name];
  const suffix = 'suffix' in platform ? platform.suffix : '';
  const executable = to(`plant-store-${version}-${name}${suffix}`);
  const inputs = await buildExecutable(name, executable);
  if (!('architecture' in platform)) return;
  const { architecture } = platform;
  const common = { executable, architecture, epoch };
  const debian = to(`plant-store_${debianVersion}_${architecture}.deb`);
  buildDebianPackage({ ...common, licences: licences(inputs), output: debian });
  buildImage({ ...common, output: to(`plant-store-${version}-${architecture}.oci.tar`) });
}

/** @throws if a file differs */
function compare(first: string, second: string): void {
  const { status, stdout } = spawnSync('diff', ['-r', '-q', first, second], { encoding: 'utf8' });
  rmSync(second, { recursive: true });
  if (status !== 0) throw new Error(`the second build differs from the first:\n${stdout}`);
}

function run(program: string, args: string[]): string {
  return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}
