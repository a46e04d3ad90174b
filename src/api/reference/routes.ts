import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Handle, sendContent, sendDefect } from '../../http/exchange.ts';
import { loadedOnce } from '../../loaded-once.ts';
import { readAsset } from '../../program.ts';
import { referenceHtml } from './html.ts';

/**
 * The interactive reference page and its files, by path. All files come from the service. The page
 * keeps a token in memory only.
 */
export function referenceRoutes(
  basePath: string,
  bodyBytesMax: number,
): Record<string, Record<string, Handle>> {
  const path = `${basePath}/docs`;
  const html = () => Buffer.from(referenceHtml(basePath, bodyBytesMax));
  return {
    [path]: getAndHead('text/html', html),
    ...Object.fromEntries(
      Object.entries(files).map(([name, type]) => [
        `${path}/${name}`,
        getAndHead(type, () => readAsset(`reference/${name}`)),
      ]),
    ),
  };
}

const files = {
  'theme.css': 'text/css',
  'style.css': 'text/css',
  'page.ts': 'text/javascript',
  'samples.ts': 'text/javascript',
};

/** The page runs scripts of the service and calls the service. Its icon is empty. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  'img-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
];

const lines = `Content-Security-Policy: ${policy.join('; ')}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\nCache-Control: no-cache\r\nVary: Accept-Encoding\r\n`;

/** @param make makes the content, on the first request */
function getAndHead(type: string, make: () => Buffer): Record<string, Handle> {
  const plain = loadedOnce(async () => make());
  const compressed = loadedOnce(async () => promisify(gzip)(await plain()));
  const handle: Handle = (exchange, { fields }) => {
    const isCompressed = takesGzip(fields.get('accept-encoding'));
    const encoding = isCompressed ? 'Content-Encoding: gzip\r\n' : '';
    const loading = isCompressed ? compressed() : plain();
    loading
      .then((content) =>
        sendContent(
          exchange,
          `Content-Type: ${type}; charset=utf-8\r\n${encoding}${lines}`,
          content,
        ),
      )
      .catch((error) => sendDefect(exchange, error));
  };
  return { GET: handle, HEAD: handle };
}

/** RFC 9110 §12.5.3, with a weight other than 0. */
function takesGzip(acceptEncodings: readonly string[] = []): boolean {
  return acceptEncodings.some((line) => line.split(',').some((coding) => gzipCoding.test(coding)));
}

const gzipCoding = /^[ \t]*gzip[ \t]*(?:;(?![ \t]*q=0(?:\.0*)?[ \t]*$).*)?$/i;
