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
  const inputs = await bundle(join(folder, 'lib'), { splitting: true, plugins });
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

/** An import of a module of Node would load all that it exports: `node:http` loads another client. */
const modulesOfNode: Plugin = {
  name: 'modules of Node',
  setup({ onLoad, onResolve }) {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: 'node' }));
    onLoad({ filter: /./, namespace: 'node' }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule('${path}')`,
    }));
  },
};

/**
 * Bundles the main thread as `main.js`, and each other thread by its name. One file takes less time to
 * load than many. The same source gives the same bytes.
 *
 * @param options `splitting` gives the HTTP thread files of their own for what it loads on demand. In
 * one file each module would be a function, which assigns the variables of the module later.
 * @returns the files that went into the bundles, relative to the root of the project
 */
export async function bundle(
  outdir: string,
  { splitting = false, plugins = [] }: Pick<BuildOptions, 'splitting' | 'plugins'> = {},
): Promise<string[]> {
  const entries = { main: 'main.ts', ...threadEntries };
  const define = { COMMIT_OF_BUILD: JSON.stringify(commit()) };
  const builds = Object.entries(entries).map(([name, file]) => {
    const isSplit = splitting && name === 'http-thread';
    return build({
      outdir,
      entryPoints: { [name]: `src/${file}` },
      splitting: isSplit,
      plugins: isSplit ? plugins : [...plugins, modulesOfNode],
      bundle: true,
      platform: 'node',
      format: 'esm',
      target: 'node26',
      metafile: true,
      legalComments: 'none',
      define,
      // An optional package of pg that the program does not use.
      external: ['pg-native'],
      // CommonJS packages call `require` for the modules of Node.
      banner: {
        js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);",
      },
    });
  });
  const inputs = (await Promise.all(builds)).flatMap(({ metafile }) =>
    Object.keys(metafile.inputs),
  );
  return inputs.filter((file) => !file.startsWith('node:'));
}

/** Of the source; null outside a checkout. */
export function commit(): string | null {
  const { status, stdout } = spawnSync('git', ['rev-parse', 'HEAD'], { encoding: 'utf8' });
  return status === 0 ? stdout.trim() : null;
}
