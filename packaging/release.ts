import { execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import manifest from '../package.json' with { type: 'json' };
import { packClient } from './client.ts';
import { buildImage } from './container.ts';
import { buildDebianPackage } from './debian.ts';
import { buildExecutable, type PlatformName, platforms } from './executable.ts';
import { licences } from './licences.ts';
import { softwareBill } from './software-bill.ts';

/*
 * Builds everything that is published into `release/`, twice, and compares the bytes. `--once`
 * builds once, and `--platforms linux-x64` for some platforms only.
 */

const { values: options } = parseArgs({
  options: { once: { type: 'boolean' }, platforms: { type: 'string' } },
});
const wanted = options.platforms?.split(',') ?? Object.keys(platforms);

const folder = 'release';
rmSync(folder, { recursive: true, force: true });
await build(folder);
if (!options.once) compare(folder, await build('release-again'));
writeFileSync(
  join(folder, 'SHA256SUMS'),
  execFileSync('sha256sum', readdirSync(folder).sort(), { cwd: folder }),
);

async function build(output: string): Promise<string> {
  mkdirSync(output);
  const epoch = Number(run('git', ['log', '-1', '--format=%ct']));
  const to = (name: string) => resolve(output, name);
  run('npm', ['run', 'build']);
  run('npm', ['pack', './dist', '--pack-destination', output]);
  await packClient(output);
  for (const name of wanted) await buildFor(name as PlatformName, epoch, to);
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
  const debian = to(`plant-store_${version}_${architecture}.deb`);
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
