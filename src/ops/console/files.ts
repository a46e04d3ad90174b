import { hash } from 'node:crypto';
import { extname } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { assetNames, readAsset } from '../../program.ts';
import { fieldOf, type Handler } from '../answer.ts';
import { takesGzip } from '../gzip.ts';

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.js': 'text/javascript; charset=utf-8',
  '.ts': 'text/javascript; charset=utf-8',
};

function typeOf(name: string): string {
  return types[extname(name)] ?? '';
}

const indexPage = 'console/index.html';

/** Serves index.html at `/`, and the other assets of the console below /console/. */
export function openConsoleFiles() {
  const assets = assetNames().filter((name) => name.startsWith('console/'));
  const files = assets.map((asset): [string, Handler] => {
    if (asset === indexPage) return ['/', fileHandler(asset)];
    const name = asset.replace(/\.gz$/, '');
    const handler = name === asset ? fileHandler(asset) : builtFileHandler(asset, typeOf(name));
    return [`/${name}`, handler];
  });
  const html = readAsset(indexPage).toString();
  return {
    /** What answers a GET, by path. */
    files: new Map(files),
    /** Sources for `script-src`: the import map of the source can only be inline. */
    scriptHashes: scriptHashes(html),
  };
}

/** Reads the asset once. A browser that has the text already gets a 304 (RFC 9110 §13.1.2). */
function fileHandler(asset: string): Handler {
  const type = typeOf(asset);
  let body: Buffer | undefined;
  let tag = '';
  return (request) => {
    if (body === undefined) {
      body = readAsset(asset);
      tag = `"${hash('sha256', body, 'base64url')}"`;
    }
    const headers = { 'Cache-Control': 'no-cache', ETag: tag };
    // A proxy that compresses makes the tag a weak one.
    if (fieldOf(request, 'if-none-match')?.includes(tag)) return { status: 304, headers, body: '' };
    return { status: 200, headers: { ...headers, 'Content-Type': type }, body };
  };
}

/** An asset that the build has compressed. Its name has its hash, so its content never changes. */
function builtFileHandler(asset: string, type: string): Handler {
  const headers = {
    'Cache-Control': 'max-age=31536000, immutable',
    'Content-Type': type,
    Vary: 'Accept-Encoding',
  };
  let packed: Buffer | undefined;
  return (request) => {
    packed ??= readAsset(asset);
    return takesGzip(request)
      ? { status: 200, headers: { ...headers, 'Content-Encoding': 'gzip' }, body: packed }
      : { status: 200, headers, body: gunzipSync(packed) };
  };
}

/** A policy names an inline script by the SHA-256 of its text (CSP level 3, §6.7.3.3). */
function scriptHashes(html: string): string[] {
  return [...html.matchAll(/<script type="importmap">(.*?)<\/script>/gs)].map(
    ([, script = '']) => `'sha256-${hash('sha256', script, 'base64')}'`,
  );
}
