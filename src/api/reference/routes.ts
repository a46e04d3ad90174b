import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import manifest from 'swagger-ui-dist/package.json' with { type: 'json' };
import { type Handle, sendContent, sendDefect } from '../http/exchange.ts';
import { loadedOnce } from '../loaded-once.ts';
import { readAsset } from '../program.ts';

/**
 * The interactive reference page and its files, by path. All files come from the service. The page
 * keeps a token in memory only.
 */
export function referencePage(basePath: string): Record<string, Record<string, Handle>> {
  const path = `${basePath}/docs`;
  const library = `swagger-ui-${manifest.version}`;
  return {
    [path]: getAndHead((exchange) =>
      sendContent(
        exchange,
        `Content-Type: text/html; charset=utf-8\r\n${pageLines}`,
        html(library),
      ),
    ),
    [`${path}/page.js`]: getAndHead((exchange) =>
      sendContent(exchange, `${scriptType}${pageLines}`, script),
    ),
    [`${path}/${library}.css`]: getAndHead(
      libraryFile('reference/swagger-ui.css', 'Content-Type: text/css; charset=utf-8\r\n'),
    ),
    [`${path}/${library}.js`]: getAndHead(libraryFile('reference/swagger-ui.js', scriptType)),
  };
}

const getAndHead = (handle: Handle) => ({ GET: handle, HEAD: handle });

const scriptType = 'Content-Type: text/javascript; charset=utf-8\r\n';

/** The page runs scripts of the service, calls the service, and has its images in style sheets. */
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

const safe = `Content-Security-Policy: ${policy.join('; ')}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n`;
const pageLines = `${safe}Cache-Control: no-cache\r\n`;
/** The path contains the version. */
const libraryLines = `${safe}Cache-Control: public, max-age=31536000, immutable\r\nVary: Accept-Encoding\r\n`;

/** With relative paths, for proxies that serve the page below another path. */
const html = (library: string) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Plant Store</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="docs/${library}.css">
<script defer src="docs/${library}.js"></script>
<script defer src="docs/page.js"></script>
</head>
<body>
<div id="reference"><noscript>This page needs JavaScript. The description is at <a href="openapi.json">openapi.json</a>.</noscript></div>
</body>
</html>
`;

const script = `const dark = matchMedia('(prefers-color-scheme: dark)');
const followColorScheme = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.addEventListener('change', followColorScheme);
followColorScheme();

SwaggerUIBundle({
  dom_id: '#reference',
  url: 'openapi.json',
  docExpansion: 'full',
  tryItOutEnabled: true,
  persistAuthorization: false,
  // The default sends the description to a server of the makers.
  validatorUrl: null,
});
`;

/** A file of the library. It is read on the first request and then kept: 0.5 MB with gzip. */
function libraryFile(asset: string, type: string): Handle {
  const plain = loadedOnce(async () => readAsset(asset));
  const compressed = loadedOnce(() => promisify(gzip)(readAsset(asset)));
  return (exchange, { fields }) => {
    const isCompressed = takesGzip(fields.get('accept-encoding'));
    const lines = `${type}${isCompressed ? 'Content-Encoding: gzip\r\n' : ''}${libraryLines}`;
    const loading = isCompressed ? compressed() : plain();
    loading
      .then((bytes) => sendContent(exchange, lines, bytes))
      .catch((error) => sendDefect(exchange, error));
  };
}

/** RFC 9110 §12.5.3, with a weight other than 0. */
function takesGzip(acceptEncodings: readonly string[] = []): boolean {
  return acceptEncodings.some((line) => line.split(',').some((coding) => gzipCoding.test(coding)));
}

const gzipCoding = /^[ \t]*gzip[ \t]*(?:;(?![ \t]*q=0(?:\.0*)?[ \t]*$).*)?$/i;
