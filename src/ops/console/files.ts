import { hash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { extname, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Hono } from 'hono';
import { etag } from 'hono/etag';

/** The files of the console, for the browser. */
export interface ConsoleFiles {
  readonly routes: Hono;
  /**
   * What the policy of the page has to allow besides the files: its import map, which can only be
   * in the page itself.
   */
  readonly scriptHashes: readonly string[];
}

/**
 * Modules and styles of npm libraries, by the name that they have below /console/lib/. The import
 * map in index.html leads the page to the modules.
 */
const libraries: Readonly<Record<string, string>> = {
  'preact.js': 'preact',
  'preact-hooks.js': 'preact/hooks',
  'htm.js': 'htm',
  'uplot.js': 'uplot/dist/uPlot.esm.js',
  'uplot.css': 'uplot/dist/uPlot.min.css',
};

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.ts': 'text/javascript; charset=utf-8',
};

const page = fileURLToPath(new URL('page/', import.meta.url));

/**
 * Serves index.html at `/`, and the rest of the page and its libraries below /console/. A path that
 * is not one of theirs leads to no file.
 */
export function openConsoleFiles(): ConsoleFiles {
  const files = new Map([...pageFiles(), ...libraryFiles()]);
  const contents = new Map<string, string>();

  function textForBrowser(file: string): string {
    const content = contents.get(file) ?? forBrowser(file);
    contents.set(file, content);
    return content;
  }

  const routes = new Hono();
  routes.get('/', etag());
  routes.get('/console/*', etag());
  for (const [path, file] of files) {
    const headers = { 'Content-Type': types[extname(file)] ?? '', 'Cache-Control': 'no-cache' };
    routes.get(path, (context) => context.body(textForBrowser(file), 200, headers));
  }
  return { routes, scriptHashes: scriptHashes(textForBrowser(`${page}index.html`)) };
}

function pageFiles(): (readonly [path: string, file: string])[] {
  const names = readdirSync(page, { recursive: true, encoding: 'utf8' }).filter(
    (name) => extname(name) in types,
  );
  return names.map((name) => [
    name === 'index.html' ? '/' : `/console/${name.replaceAll(sep, '/')}`,
    page + name,
  ]);
}

function libraryFiles(): (readonly [path: string, file: string])[] {
  return Object.entries(libraries).map(([name, module]) => [
    `/console/lib/${name}`,
    fileURLToPath(import.meta.resolve(module)),
  ]);
}

/** As the browser can take it: without its types. */
function forBrowser(file: string): string {
  const content = readFileSync(file, 'utf8');
  return extname(file) === '.ts' ? stripTypeScriptTypes(content) : content;
}

/** A policy names a script that is in a page by the SHA-256 of its text (CSP level 3, §6.7.3.3). */
function scriptHashes(html: string): string[] {
  return [...html.matchAll(/<script type="importmap">(.*?)<\/script>/gs)].map(
    ([, script = '']) => `'sha256-${hash('sha256', script, 'base64')}'`,
  );
}
