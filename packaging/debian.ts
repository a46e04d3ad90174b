import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempDisposableSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import manifest from '../package.json' with { type: 'json' };
import { readAsset } from '../src/program.ts';
import type { Package } from './executable.ts';
import { manPage } from './man-page.ts';

/** A tilde sorts before the end, so that `2.0.0` upgrades `2.0.0~rc.1`, see deb-version(7). */
export const debianVersion = manifest.version.replace('-', '~');

const sources = join(import.meta.dirname, 'debian');

const units = 'usr/lib/systemd/system';

/** Where the files of `packaging/debian` go. */
const places: Readonly<Record<string, string>> = {
  [`${units}/plant-store.service`]: 'plant-store.service',
  [`${units}/plant-store.service.d/10-hardening.conf`]: 'hardening.conf',
  [`${units}/plant-store-litestream.service`]: 'plant-store-litestream.service',
  // For each unit whose name begins with `plant-store-`, see systemd.unit(5).
  [`${units}/plant-store-.service.d/10-hardening.conf`]: 'hardening.conf',
  'usr/share/plant-store/litestream.yml': '../litestream.yml',
  'usr/lib/sysusers.d/plant-store.conf': 'plant-store.sysusers',
  'usr/lib/tmpfiles.d/plant-store.conf': 'plant-store.tmpfiles',
  'etc/default/plant-store': 'plant-store.default',
  'DEBIAN/conffiles': 'conffiles',
};

/** Where the completions of shells go. */
const completions: Readonly<Record<string, string>> = {
  bash: 'usr/share/bash-completion/completions/plant-store',
  fish: 'usr/share/fish/vendor_completions.d/plant-store.fish',
  zsh: 'usr/share/zsh/vendor-completions/_plant-store',
};

/** @param options `licences` are of the packages in the executable */
export function buildDebianPackage(options: Package & { readonly licences: string }): void {
  using temporary = mkdtempDisposableSync(join(tmpdir(), 'plant-store-debian-'));
  const root = temporary.path;
  const place = (path: string, content: string | Buffer, mode = 0o644) => {
    mkdirSync(dirname(join(root, path)), { recursive: true, mode: 0o755 });
    writeFileSync(join(root, path), content);
    chmodSync(join(root, path), mode);
  };
  chmodSync(root, 0o755);
  for (const [path, file] of Object.entries(places)) place(path, readFileSync(join(sources, file)));
  for (const [shell, path] of Object.entries(completions))
    place(path, readAsset(`completion/plant-store.${shell}`));
  place('usr/share/man/man1/plant-store.1.gz', gzipSync(manPage()));
  place('usr/share/doc/plant-store/copyright', copyright(options.licences));
  place('usr/share/doc/plant-store/changelog.gz', gzipSync(readFileSync('CHANGELOG.md')));
  mkdirSync(join(root, 'etc/plant-store'), { mode: 0o750 });
  mkdirSync(join(root, 'usr/bin'));
  copyFileSync(options.executable, join(root, 'usr/bin/plant-store'));
  chmodSync(join(root, 'usr/bin/plant-store'), 0o755);
  place('DEBIAN/control', control(options.architecture, root));
  for (const script of ['postinst', 'prerm', 'postrm'])
    place(`DEBIAN/${script}`, readFileSync(join(sources, script)), 0o755);
  const args = ['--root-owner-group', '-Zzstd', '-z12', '--build', root, options.output];
  const env = { ...process.env, SOURCE_DATE_EPOCH: `${options.epoch}` };
  execFileSync('dpkg-deb', args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
}

function control(architecture: string, root: string): string {
  const values: Readonly<Record<string, unknown>> = {
    ...manifest,
    version: debianVersion,
    architecture,
    installedKib: sizeKib(root),
  };
  const template = readFileSync(join(sources, 'control'), 'utf8');
  return template.replaceAll(/\{(\w+)\}/g, (_, name) => `${values[name]}`);
}

function copyright(licences: string): string {
  return `${readFileSync('LICENSE', 'utf8')}\nThe program contains Node.js and these packages:\n\n${licences}`;
}

function sizeKib(root: string): number {
  const paths = readdirSync(root, { recursive: true, encoding: 'utf8' });
  const files = paths.map((path) => statSync(join(root, path))).filter((found) => found.isFile());
  return Math.ceil(files.reduce((sum, { size }) => sum + size, 0) / 1_024);
}
