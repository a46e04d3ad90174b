import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assetNames, readAsset, threadEntries } from '../src/program.ts';
import { bundle } from './bundle.ts';
import { fetchNode, type PlatformName, platforms } from './node.ts';

/**
 * Builds the program as one executable file (nodejs.org/api/single-executable-applications.html): a
 * Node without symbols, the bundles, and the assets.
 *
 * @param output an absolute path
 * @returns the files in the bundles, relative to the root of the project
 */
export async function buildExecutable(name: PlatformName, output: string): Promise<string[]> {
  const platform = platforms[name];
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-executable-'));
  const inFolder = (file: string) => join(folder, file.replaceAll('/', '-'));
  try {
    const inputs = await bundle({ outdir: folder });
    const node = inFolder('node');
    if ('strip' in platform) execFileSync(platform.strip, ['-o', node, fetchNode(name)]);
    else copyFileSync(fetchNode(name), node);
    for (const asset of assetNames()) writeFileSync(inFolder(asset), readAsset(asset));
    const embedded = [...assetNames(), ...Object.keys(threadEntries).map((name) => `${name}.js`)];
    const config = {
      // The file keeps this path, so it must not name the folder.
      main: 'main.js',
      mainFormat: 'module',
      executable: node,
      output,
      disableExperimentalSEAWarning: true,
      // As in the launcher.
      execArgv: ['--max-semi-space-size=2'],
      assets: Object.fromEntries(embedded.map((file) => [file, inFolder(file)])),
    };
    writeFileSync(inFolder('sea.json'), JSON.stringify(config));
    execFileSync(process.execPath, ['--build-sea', 'sea.json'], { cwd: folder, stdio: 'ignore' });
    return inputs;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
