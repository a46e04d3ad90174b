import { hash } from 'node:crypto';
import { extname } from 'node:path';
import { Hono } from 'hono';
import { etag } from 'hono/etag';
import { assetNames, readAsset } from '../../program.ts';

/** The files of the console, for the browser. */
export interface ConsoleFiles {
  readonly routes: Hono;
  /**
   * What the policy of the page has to allow besides the files: its import map, which can only be
   * in the page itself.
   */
  readonly scriptHashes: readonly string[];
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.js': 'text/javascript; charset=utf-8',
  '.ts': 'text/javascript; charset=utf-8',
};

/** Serves index.html at `/`, and the other assets of the console below /console/. */
export function openConsoleFiles(): ConsoleFiles {
  const contents = new Map<string, string>();

  function content(asset: string): string {
    const text = contents.get(asset) ?? readAsset(asset).toString();
    contents.set(asset, text);
    return text;
  }

  const routes = new Hono();
  routes.get('/', etag());
  routes.get('/console/*', etag());
  for (const asset of assetNames().filter((name) => name.startsWith('console/'))) {
    const path = asset === indexPage ? '/' : `/${asset}`;
    const headers = { 'Content-Type': types[extname(asset)] ?? '', 'Cache-Control': 'no-cache' };
    routes.get(path, (context) => context.body(content(asset), 200, headers));
  }
  return { routes, scriptHashes: scriptHashes(content(indexPage)) };
}

const indexPage = 'console/index.html';

/** A policy names a script that is in a page by the SHA-256 of its text (CSP level 3, §6.7.3.3). */
function scriptHashes(html: string): string[] {
  return [...html.matchAll(/<script type="importmap">(.*?)<\/script>/gs)].map(
    ([, script = '']) => `'sha256-${hash('sha256', script, 'base64')}'`,
  );
}
