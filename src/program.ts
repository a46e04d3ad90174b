import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { join, relative, sep } from 'node:path';
import { getAsset, getAssetKeys, getRawAsset, isSea } from 'node:sea';
import { fileURLToPath } from 'node:url';
import { Worker, type WorkerOptions } from 'node:worker_threads';
import manifest from '../package.json' with { type: 'json' };

/*
 * Where the program is. It runs in one of three forms: from its source, from the bundle that
 * `npm run build` makes, or as one executable file. No other file depends on the form.
 */

const form = isSea()
  ? 'executable'
  : import.meta.url.endsWith('/src/program.ts')
    ? 'source'
    : 'bundle';

/** Version of the program. The description of the API has another version. */
export const version: string = manifest.version;

/** The build replaces the name with the commit of the source. */
declare const COMMIT_OF_BUILD: string | null;

/** What a report of a defect needs to say about the program. */
export const build = {
  version,
  commit: form === 'source' ? null : COMMIT_OF_BUILD,
  form,
  node: process.versions.node,
  sqlite: process.versions['sqlite'],
  platform: `${process.platform}-${process.arch}`,
};

/** The entry of each thread, in `src/`. The bundle of a thread has the name of the thread. */
export const threadEntries = {
  'http-thread': 'serve/http-thread.ts',
  'reader-thread': 'serve/reader-thread.ts',
  'store-thread': 'store/sqlite/store-thread.ts',
  'task-thread': 'store/sqlite/task-thread.ts',
} as const;

export function startThread(name: keyof typeof threadEntries, options: WorkerOptions): Worker {
  if (form === 'executable')
    return new Worker(getAsset(`${name}.js`, 'utf8'), { ...options, eval: true });
  const file = form === 'source' ? threadEntries[name] : `${name}.js`;
  return new Worker(new URL(file, import.meta.url), options);
}

/** The command that starts the program. Arguments follow. */
export const programCommand: readonly [string, ...string[]] =
  form === 'executable'
    ? [process.execPath]
    : [process.execPath, fileURLToPath(new URL('../bin/plant-store.js', import.meta.url))];

/** Assets from npm packages, and files that a page shares with the service or another page. */
const moduleAssets: Readonly<Record<string, string>> = {
  'console/lib/preact.js': 'preact',
  'console/lib/preact-hooks.js': 'preact/hooks',
  'console/lib/uplot.js': 'uplot/dist/uPlot.esm.js',
  'console/uplot/dist/uPlot.min.css': 'uplot/dist/uPlot.min.css',
  'console/lib/quantity-text.ts': './quantity-text.ts',
  'reference/theme.css': './ops/console/page/theme.css',
};

/** Assets from folders of `src/`, by the folder in `assets/`. */
const folderAssets: Readonly<Record<string, { folder: string; files: RegExp }>> = {
  console: { folder: 'ops/console/page/', files: /\.(html|css|svg|ts)$/ },
  reference: { folder: 'create/reference/page/', files: /\.(css|ts)$/ },
  completion: { folder: 'cli/completion/', files: /\.(bash|zsh|fish)$/ },
};

/**
 * The names of all assets: files that the program hands on to browsers and shells. A name is a path
 * below `assets/` of a bundle, with `/` on every system. A build has other files for the console.
 */
export function assetNames(): string[] {
  if (form === 'executable') return getAssetKeys().filter((name) => name.includes('/'));
  if (form === 'bundle') return filesIn('assets/');
  const ownNames = Object.entries(folderAssets).flatMap(([prefix, { folder, files }]) =>
    filesIn(folder)
      .filter((name) => files.test(name))
      .map((name) => `${prefix}/${name}`),
  );
  return [...Object.keys(moduleAssets), ...ownNames];
}

/** @param name one of `assetNames`. TypeScript comes without its types. */
export function readAsset(name: string): Buffer {
  if (form === 'executable') return Buffer.from(getRawAsset(name));
  if (form === 'bundle') return readFileSync(pathOf(`assets/${name}`));
  const content = readFileSync(sourceOf(name));
  return name.endsWith('.ts') ? Buffer.from(stripTypeScriptTypes(content.toString())) : content;
}

function sourceOf(name: string): string {
  const module = moduleAssets[name];
  if (module !== undefined) return fileURLToPath(import.meta.resolve(module));
  const [prefix = '', ...rest] = name.split('/');
  return pathOf(`${folderAssets[prefix]?.folder}${rest.join('/')}`);
}

function filesIn(folder: string): string[] {
  return readdirSync(pathOf(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(pathOf(folder), join(entry.parentPath, entry.name)))
    .map((name) => name.replaceAll(sep, '/'));
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
