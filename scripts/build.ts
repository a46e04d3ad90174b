import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type BuildOptions, build } from 'esbuild';
import manifest from '../package.json' with { type: 'json' };
import { assetNames, readAsset, threadEntries } from '../src/program.ts';

// Builds `dist/`, the npm package: the launcher in bin/, a bundle for each thread and the assets in
// lib/. The same source gives the same bytes.

const folder = 'dist';
const launcher = 'bin/plant-store.js';

const shared: BuildOptions = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node26',
  metafile: true,
  legalComments: 'none',
  // CommonJS packages call `require` for the modules of Node.
  banner: {
    js: "import { createRequire } from 'node:module';\nconst require = createRequire(import.meta.url);",
  },
};

/** Packages of which each has a file of its own, because several threads load them. */
const packages = ['pg', 'pino', 'pino-pretty'];
const notExported = new Set(['default', 'module.exports', 'native']);

rmSync(folder, { recursive: true, force: true });
const results = await Promise.all([
  ...packages.map(buildPackage),
  build({
    ...shared,
    entryPoints: { main: 'src/main.ts', ...inSource(threadEntries) },
    outdir: join(folder, 'lib'),
    alias: Object.fromEntries(packages.map((name) => [name, `./packages/${name}.js`])),
    external: ['./packages/*'],
  }),
]);
for (const name of assetNames()) write(`lib/assets/${name}`, readAsset(name));
write(launcher, readFileSync(launcher, 'utf8').replace('../src/main.ts', '../lib/main.js'), 0o755);
write('package.json', `${JSON.stringify(packageJson(), null, 2)}\n`);
write(
  'LICENSES.txt',
  licences(results.flatMap(({ metafile }) => Object.keys(metafile?.inputs ?? {}))),
);
for (const name of ['LICENSE', 'README.md']) copyFileSync(name, join(folder, name));

/** A CommonJS package as an ES module with the same named exports. */
async function buildPackage(name: string) {
  const exported = Object.keys(await import(name)).filter((key) => !notExported.has(key));
  const contents = `import whole from '${name}';
export default whole;
export const { ${exported.join(', ')} } = whole;
`;
  const outfile = join(folder, `lib/packages/${name}.js`);
  return build({ ...shared, stdin: { contents, resolveDir: '.' }, outfile });
}

function inSource(entries: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, `src/${file}`]));
}

function write(name: string, content: string | Buffer, mode = 0o644): void {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content, { mode });
}

function packageJson() {
  const { name, version, description, license, type, engines, bin, optionalDependencies } =
    manifest;
  return { name, version, description, license, type, engines, bin, optionalDependencies };
}

/** The licences of the packages whose code is in the bundles or in the assets. */
function licences(inputs: readonly string[]): string {
  const bundled = inputs.map((input) => /^(node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1]);
  const inAssets = ['preact', 'htm', 'uplot', 'swagger-ui-dist'].map(
    (name) => `node_modules/${name}`,
  );
  const folders = new Set([...bundled, ...inAssets].filter((path) => path !== undefined));
  return [...folders].sort().map(licence).join('\n');
}

function licence(path: string): string {
  const { name, version, license } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8'));
  const files = readdirSync(path).filter((file) => /^(licen[cs]e|notice)/i.test(file));
  if (files.length === 0) console.warn(`${name} has no licence file`);
  const texts = files.map((file) => readFileSync(join(path, file), 'utf8').trim());
  return `${'-'.repeat(80)}\n${name} ${version} (${license})\n\n${texts.join('\n\n')}\n`;
}
