import { execFile } from 'node:child_process';
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('../clients/typescript', import.meta.url));
const run = promisify(execFile);

/** Bundles the client for every runtime into one module, which people read in an uncaught error. */
export async function bundleClient(outfile: string): Promise<void> {
  await build({
    entryPoints: [join(root, 'src/index.ts')],
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    target: 'es2022',
  });
}

/** Packs `plant-store-client-VERSION.tgz`. The same source gives the same bytes. */
export async function packClient(folder: string): Promise<void> {
  const dist = join(root, 'dist');
  rmSync(dist, { recursive: true, force: true });
  await bundleClient(join(dist, 'index.js'));
  await run('tsc', ['-p', root]);
  for (const name of readdirSync(dist).filter((file) => file.endsWith('.d.ts'))) {
    const types = readFileSync(join(dist, name), 'utf8');
    writeFileSync(join(dist, name), types.replaceAll(/(from '\.\/[\w-]+)\.ts'/g, "$1.js'"));
  }
  copyFileSync(join(root, '../../LICENSE'), join(root, 'LICENSE'));
  await run('npm', ['pack', root, '--pack-destination', folder]);
}

if (import.meta.main) await packClient('.');
