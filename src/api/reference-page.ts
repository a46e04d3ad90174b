import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import manifest from 'swagger-ui-dist/package.json' with { type: 'json' };
import { type Handle, sendContent, sendDefect } from '../http/exchange.ts';
import { loadedOnce } from '../loaded-once.ts';
import { readAsset } from '../program.ts';

/**
 * The page on which the description can be read and the operation tried, and what the page is made
 * of, by path. All of it comes from the service itself; the token that is typed into it stays in
 * the memory of the page.
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

/**
 * What the page may do: run the scripts of the service, and call the service. Its pictures stand in
 * its style sheet.
 */
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
/** The version stands in the path. */
const libraryLines = `${safe}Cache-Control: public, max-age=31536000, immutable\r\nVary: Accept-Encoding\r\n`;

/** Relative, so that it also works behind a proxy that serves it below another path. */
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
  // The usual one asks a server of its makers to check the description.
  validatorUrl: null,
});
`;

/**
 * One of the library's files, which is read when somebody asks for it, and then kept: all clients
 * together need half a megabyte, as long as they take gzip.
 */
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
