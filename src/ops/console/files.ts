import { hash } from 'node:crypto';
import { extname } from 'node:path';
import { assetNames, readAsset } from '../../program.ts';
import { fieldOf, type Handler } from '../answer.ts';

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
  const assets = assetNames().filter((name) => name.startsWith('console/'));
  const files = assets.map((asset): [string, Handler] => [
    asset === indexPage ? '/' : `/${asset}`,
    fileHandler(asset),
  ]);
  const html = readAsset(indexPage).toString();
  return { files: new Map(files), scriptHashes: scriptHashes(html) };
}

/** Reads the asset once. A browser that has the text already gets a 304 (RFC 9110 §13.1.2). */
function fileHandler(asset: string): Handler {
  let read: { readonly body: Buffer; readonly tag: string } | undefined;
  return (request) => {
    read ??= withTag(readAsset(asset));
    const { body, tag } = read;
    const headers = { 'Cache-Control': 'no-cache', ETag: tag };
    const known = fieldOf(request, 'if-none-match')?.split(',') ?? [];
    if (known.some((one) => ['*', tag].includes(one.trim().replace(/^W\//, ''))))
      return { status: 304, headers, body: '' };
    const type = types[extname(asset)] ?? '';
    return { status: 200, headers: { ...headers, 'Content-Type': type }, body };
  };
}

function withTag(body: Buffer) {
  return { body, tag: `"${hash('sha256', body, 'base64url')}"` };
}

/** A policy names an inline script by the SHA-256 of its text (CSP level 3, §6.7.3.3). */
function scriptHashes(html: string): string[] {
  return [...html.matchAll(/<script type="importmap">(.*?)<\/script>/gs)].map(
    ([, script = '']) => `'sha256-${hash('sha256', script, 'base64')}'`,
  );
}
