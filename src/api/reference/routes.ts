import { hash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Handle, sendContent, sendDefect, sendReply } from '../../http/exchange.ts';
import { readAsset } from '../../program.ts';
import { reused } from '../../reused.ts';
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

interface Content {
  readonly plain: Buffer;
  readonly compressed: Buffer;
  /** Weak, because both forms have the same tag (RFC 9110 §8.8.1). */
  readonly tag: string;
}

/** @param make makes the content, on the first request */
function getAndHead(type: string, make: () => Buffer): Record<string, Handle> {
  const content = reused(async (): Promise<Content> => {
    const plain = make();
    const tag = `W/"${hash('sha256', plain, 'base64url').slice(0, 22)}"`;
    return { plain, compressed: await promisify(gzip)(plain), tag };
  });
  const handle: Handle = (exchange, { fields }) => {
    const isCompressed = takesGzip(fields.get('accept-encoding'));
    const knownTags = fields.get('if-none-match');
    content()
      .then(({ plain, compressed, tag }) => {
        const tagged = `${lines}ETag: ${tag}\r\n`;
        if (isAmong(knownTags, tag))
          return sendReply(exchange, { status: 304, lines: tagged, body: '' });
        const encoding = isCompressed ? 'Content-Encoding: gzip\r\n' : '';
        sendContent(
          exchange,
          `Content-Type: ${type}; charset=utf-8\r\n${encoding}${tagged}`,
          isCompressed ? compressed : plain,
        );
      })
      .catch((error) => sendDefect(exchange, error));
  };
  return { GET: handle, HEAD: handle };
}

/** If-None-Match, by weak comparison (RFC 9110 §13.1.2). */
function isAmong(knownTags: readonly string[] = [], tag: string): boolean {
  const opaqueTag = tag.slice('W/'.length);
  return knownTags.some((line) => line.trim() === '*' || line.includes(opaqueTag));
}

/** RFC 9110 §12.5.3, with a weight other than 0. */
function takesGzip(acceptEncodings: readonly string[] = []): boolean {
  return acceptEncodings.some((line) => line.split(',').some((coding) => gzipCoding.test(coding)));
}

const gzipCoding = /^[ \t]*gzip[ \t]*(?:;(?![ \t]*q=0(?:\.0*)?[ \t]*$).*)?$/i;
