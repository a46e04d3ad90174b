import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { assetNames, readAsset } from '../src/program.ts';

const page = 'src/ops/console/page';

/**
 * The assets of a build by name: those of the source, but the console as one script and one style
 * sheet. Their names have a hash of their content, so browsers keep them for good, and they are
 * compressed.
 *
 * @returns also the files that went into them, relative to the root of the project
 */
export async function buildAssets() {
  const assets = new Map<string, Buffer>();
  for (const name of assetNames().filter((one) => !one.startsWith('console/')))
    assets.set(name, readAsset(name));
  const source = readFileSync(`${page}/index.html`, 'utf8');
  const sheets = [...source.matchAll(/"\/console\/(.*\.css)"/g)].map(([, name]) => name);
  const { outputFiles, metafile } = await build({
    entryPoints: [`${page}/app.ts`, `${page}/icon.svg`],
    stdin: {
      contents: sheets.map((name) => `@import "${name}";`).join('\n'),
      loader: 'css',
      resolveDir: page,
    },
    entryNames: '[name]-[hash]',
    outdir: 'console',
    loader: { '.svg': 'copy' },
    bundle: true,
    minify: true,
    write: false,
    metafile: true,
    format: 'esm',
    target: 'esnext',
    legalComments: 'none',
  });
  let html = source
    .replace(
      /( *<link rel="stylesheet".*\n)+/,
      '    <link rel="stylesheet" href="/console/style.css" />\n',
    )
    // Modules of a bundle need no import map.
    .replace(/ *<!--.*?<\/script>\n/s, '');
  for (const { path, contents } of outputFiles) {
    const name = `console/${basename(path).replace('stdin', 'style')}`;
    html = html.replaceAll(`/${name.replace(/-\w+\./, '.').replace(/js$/, 'ts')}`, `/${name}`);
    assets.set(`${name}.gz`, gzipSync(contents, { level: 9 }));
  }
  assets.set('console/index.html', Buffer.from(html));
  return { assets, inputs: Object.keys(metafile.inputs) };
}
