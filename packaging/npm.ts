import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { assetNames, readAsset } from '../src/program.ts';
import { bundle } from './bundle.ts';
import { licences } from './licences.ts';

// Builds `dist/`, the npm package: the launcher in bin/, the bundles and the assets in lib/.

const folder = 'dist';
const launcher = 'bin/plant-store.js';

rmSync(folder, { recursive: true, force: true });
const inputs = await bundle({ outdir: join(folder, 'lib'), splitting: true });
for (const name of assetNames()) write(`lib/assets/${name}`, readAsset(name));
write(launcher, readFileSync(launcher, 'utf8').replace('../src/main.ts', '../lib/main.js'), 0o755);
write('package.json', `${JSON.stringify(packageJson(), null, 2)}\n`);
write('LICENSES.txt', licences(inputs));
copyFileSync('LICENSE', join(folder, 'LICENSE'));
copyFileSync('packaging/npm/README.md', join(folder, 'README.md'));

function write(name: string, content: string | Buffer, mode = 0o644): void {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content, { mode });
}

function packageJson() {
  const { private: _, scripts, dependencies, devDependencies, ...published } = manifest;
  return published;
}
