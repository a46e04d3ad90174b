import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assetNames, readAsset, threadEntries } from '../src/program.ts';
import { bundle } from './bundle.ts';

/**
 * Builds the program as one executable file: a Node without symbols, the bundles, and the assets.
 *
 * @param node the path of the Node that becomes the executable
 * @param strip the command that removes symbols for the system of that Node
 */
export async function buildExecutable(node: string, strip: string, output: string) {
  const folder = mkdtempSync(join(tmpdir(), 'plant-store-build-'));
  const inFolder = (name: string) => join(folder, name.replaceAll('/', '-'));
  try {
    const inputs = await bundle({ outdir: folder });
    execFileSync(strip, ['--strip-all', '-o', inFolder('node'), node]);
    for (const name of assetNames()) writeFileSync(inFolder(name), readAsset(name));
    const threads = Object.keys(threadEntries).map((name) => `${name}.js`);
    const config = {
      main: inFolder('main.js'),
      mainFormat: 'module',
      executable: inFolder('node'),
      output,
      disableExperimentalSEAWarning: true,
      execArgvExtension: 'none',
      assets: Object.fromEntries(
        [...assetNames(), ...threads].map((name) => [name, inFolder(name)]),
      ),
    };
    writeFileSync(inFolder('sea.json'), JSON.stringify(config));
    execFileSync(process.execPath, ['--build-sea', inFolder('sea.json')], { stdio: 'inherit' });
    return inputs;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
