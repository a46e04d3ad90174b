import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import lock from '../package-lock.json' with { type: 'json' };
import { threadEntries } from '../src/program.ts';
import { buildAssets } from './assets.ts';
import { bundle } from './bundle.ts';

/** As Debian and OCI name it. */
export type Architecture = 'amd64' | 'arm64';

/** What is made of an executable. */
export interface Package {
  /** The path of the program as one executable file. */
  readonly executable: string;
  readonly architecture: Architecture;
  /** Seconds since 1970. No file of the package is newer. */
  readonly epoch: number;
  /** The path of the package. */
  readonly output: string;
}

/**
 * The platforms that get an executable, and with an `architecture` packages, too. `strip` removes the
 * symbols, a fifth of the file. A Mac only runs signed files, which need a Mac to sign.
 */
export const platforms = {
  'linux-x64': { architecture: 'amd64', strip: 'x86_64-linux-gnu-strip' },
  'linux-arm64': { architecture: 'arm64', strip: 'aarch64-linux-gnu-strip' },
  'win-x64': { suffix: '.exe' },
} as const;

export type PlatformName = keyof typeof platforms;

const cache = 'node_modules/.cache/plant-store-nodes';

/**
 * Builds the program as one executable file (nodejs.org/api/single-executable-applications.html): a
 * Node without symbols, the bundles, and the assets.
 *
 * @param output an absolute path
 * @returns the files that went into it, relative to the root of the project
 */
export async function buildExecutable(name: PlatformName, output: string): Promise<string[]> {
  const platform = platforms[name];
  using temporary = mkdtempDisposableSync(join(tmpdir(), 'plant-store-executable-'));
  const folder = temporary.path;
  const inFolder = (file: string) => join(folder, file.replaceAll('/', '-'));
  const inputs = await bundle(folder);
  const node = inFolder('node');
  if ('strip' in platform) execFileSync(platform.strip, ['-o', node, fetchNode(name)]);
  else copyFileSync(fetchNode(name), node);
  const { assets, inputs: inputsOfAssets } = await buildAssets();
  for (const [asset, content] of assets) writeFileSync(inFolder(asset), content);
  const embedded = [...assets.keys(), ...Object.keys(threadEntries).map((name) => `${name}.js`)];
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
  return [...inputs, ...inputsOfAssets];
}

/**
 * Fetches the Node of a platform from the npm registry, or from an earlier build.
 *
 * @returns the path of the program
 * @throws if the package is not the one of the lock file
 */
function fetchNode(name: PlatformName): string {
  const { version, integrity } = lock.packages[`node_modules/node-${name}`];
  const folder = join(cache, `${name}-${version}`);
  const program = join(folder, 'package/bin', name === 'win-x64' ? 'node.exe' : 'node');
  if (existsSync(program)) return program;
  const unfinished = `${folder}.unfinished`;
  for (const old of [folder, unfinished]) rmSync(old, { recursive: true, force: true });
  mkdirSync(unfinished, { recursive: true });
  const args = ['pack', `node-${name}@${version}`, '--silent', '--pack-destination', unfinished];
  const archive = join(unfinished, execFileSync('npm', args, { encoding: 'utf8' }).trim());
  const hash = createHash('sha512').update(readFileSync(archive)).digest('base64');
  if (`sha512-${hash}` !== integrity)
    throw new Error(`${archive} is not the package of package-lock.json`);
  execFileSync('tar', ['--extract', '--file', archive, '--directory', unfinished]);
  renameSync(unfinished, folder);
  return program;
}
