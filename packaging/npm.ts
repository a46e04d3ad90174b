import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { buildProgram } from './bundle.ts';
import { licences } from './licences.ts';

// Builds `dist/`, the npm package.

const folder = 'dist';

rmSync(folder, { recursive: true, force: true });
const inputs = await buildProgram(folder);
writeFileSync(join(folder, 'package.json'), `${JSON.stringify(packageJson(), null, 2)}\n`);
writeFileSync(join(folder, 'LICENSES.txt'), licences(inputs));
copyFileSync('LICENSE', join(folder, 'LICENSE'));
copyFileSync('packaging/npm/README.md', join(folder, 'README.md'));

function packageJson() {
  const { private: _, scripts, dependencies, devDependencies, ...published } = manifest;
  return published;
}
