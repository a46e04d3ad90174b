import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type BuildOptions, build, type Plugin } from 'esbuild';
import { threadEntries } from '../src/program.ts';
import { buildAssets } from './assets.ts';

const launcher = 'bin/plant-store.js';

/**
 * Builds the program: the launcher in `bin/`, the bundles and the assets in `lib/`.
 *
 * @returns the files that went into them, relative to the root of the project
 */
export async function buildProgram(folder: string, plugins: Plugin[] = []): Promise<string[]> {
  const inputs = await bundle({ outdir: join(folder, 'lib'), splitting: true, plugins });
  const { assets, inputs: inputsOfAssets } = await buildAssets();
  for (const [name, content] of assets) write(join(folder, 'lib/assets', name), content);
  const start = readFileSync(launcher, 'utf8').replace('../src/main.ts', '../lib/main.js');
  write(join(folder, launcher), start, 0o755);
  return [...inputs, ...inputsOfAssets];
}

function write(path: string, content: string | Buffer, mode = 0o644): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content, { mode });
}

/**
 * Bundles the main thread as `main.js`, and each other thread by its name. The same source gives
 * the same bytes.
 *
 * @param options `splitting` puts what several threads use into files of its own
 * @returns the files that went into the bundles, relative to the root of the project
 */
export async function bundle(
  options: Pick<BuildOptions, 'outdir' | 'splitting' | 'plugins'>,
): Promise<string[]> {
  const threads = Object.entries(threadEntries).map(([name, file]) => [name, `src/${file}`]);
  const { metafile } = await build({
    ...options,
    entryPoints: { main: 'src/main.ts', ...Object.fromEntries(threads) },
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node26',
    metafile: true,
    legalComments: 'none',
    define: { COMMIT_OF_BUILD: JSON.stringify(commit()) },
    // An optional package of pg that the program does not use.
    external: ['pg-native'],
    // CommonJS packages call `require` for the modules of Node.
    banner: {
      js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);",
    },
  });
  return Object.keys(metafile.inputs);
}

/** Of the source; null outside a checkout. */
export function commit(): string | null {
  const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}
