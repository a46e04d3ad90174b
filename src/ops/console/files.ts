import { hash } from 'node:crypto';
import { extname } from 'node:path';
import type { Handler } from 'hono';
import { assetNames, readAsset } from '../../program.ts';

export interface ConsoleFiles {
  /** What answers a GET, by path. */
  readonly files: ReadonlyMap<string, Handler>;
  /** Sources for `script-src`: the import map can only be inline. */
  readonly scriptHashes: readonly string[];
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.js': 'text/javascript; charset=utf-8',
  '.ts': 'text/javascript; charset=utf-8',
};

const indexPage = 'console/index.html';

/** Serves index.html at `/`, and the other assets of the console below /console/. */
export function openConsoleFiles(): ConsoleFiles {
  const texts = new Map<string, string>();
  const textOf = (asset: string) => {
    const text = texts.get(asset) ?? readAsset(asset).toString();
    texts.set(asset, text);
    return text;
  };
  const files = new Map<string, Handler>();
  for (const asset of assetNames().filter((name) => name.startsWith('console/'))) {
    const path = asset === indexPage ? '/' : `/${asset}`;
    const headers = { 'Content-Type': types[extname(asset)] ?? '', 'Cache-Control': 'no-cache' };
    files.set(path, (context) => context.body(textOf(asset), 200, headers));
  }
  return { files, scriptHashes: scriptHashes(textOf(indexPage)) };
}

/** A policy names an inline script by the SHA-256 of its text (CSP level 3, §6.7.3.3). */
function scriptHashes(html: string): string[] {
  return [...html.matchAll(/<script type="importmap">(.*?)<\/script>/gs)].map(
    ([, script = '']) => `'sha256-${hash('sha256', script, 'base64')}'`,
  );
}
