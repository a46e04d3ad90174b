import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempDisposableSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { commit } from './bundle.ts';
import type { Architecture, Package } from './executable.ts';

/** What the executable is linked to. No shell, and no package manager. */
const libraries = ['libatomic1', 'libc6', 'libgcc-s1', 'libstdc++6'];

/** Makes a folder with the libraries of the executable and their licences, with mmdebstrap. */
export function extractLibraries(architecture: Architecture, root: string): void {
  const args = [
    ...['--quiet', '--variant=extract', `--architectures=${architecture}`],
    ...[`--include=${libraries}`, '--hook-dir=/usr/share/mmdebstrap/hooks/merged-usr'],
    ...['--dpkgopt=path-exclude=/usr/share/*'],
    ...['--dpkgopt=path-include=/usr/share/doc/*/copyright', 'trixie', root],
  ];
  execFileSync('mmdebstrap', args, { stdio: ['ignore', 'ignore', 'inherit'] });
}

/**
 * Builds the image as root, as an OCI archive, with mmdebstrap and buildah. No container runs for
 * the build.
 */
export function buildImage({ executable, architecture, epoch, output }: Package): void {
  using temporary = mkdtempDisposableSync(join(tmpdir(), 'plant-store-image-'));
  const folder = temporary.path;
  const run = (program: string, ...args: string[]) =>
    execFileSync(program, args, { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] });
  // Names in order, and no times or owners of this machine.
  const tar = (file: string, content: string) =>
    run(
      ...['tar', '--create', '--file', file, '--directory', content, '--sort=name'],
      ...[`--mtime=@${epoch}`, '--owner=0', '--group=0', '--numeric-owner', '.'],
    );
  const buildah = (...args: string[]) =>
    run('buildah', '--root', join(folder, 'storage'), '--storage-driver=vfs', ...args);
  extractLibraries(architecture, join(folder, 'root'));
  // The libraries and their licences remain: nothing of apt, and no settings of this machine.
  for (const entry of readdirSync(join(folder, 'root'), { withFileTypes: true }))
    if (entry.isDirectory() && entry.name !== 'usr')
      rmSync(join(folder, 'root', entry.name), { recursive: true });
  tar('root.tar', 'root');
  copyFileSync(executable, join(folder, 'plant-store'));
  mkdirSync(join(folder, 'data'));
  const file = join(import.meta.dirname, 'container/Containerfile');
  const image = `plant-store:${manifest.version}`;
  const flags = ['--quiet', '--isolation=chroot', `--timestamp=${epoch}`, `--arch=${architecture}`];
  buildah('build', ...flags, ...labels(epoch), `--file=${file}`, `--tag=${image}`, '.');
  buildah('push', '--quiet', image, `oci:image:${image}`);
  tar(output, 'image');
}

/** The keys of OCI (github.com/opencontainers/image-spec/blob/main/annotations.md). */
function labels(epoch: number): string[] {
  const { name, description, version, license, author, homepage } = manifest;
  const values = {
    ...{ title: name, description, version, licenses: license, authors: author, url: homepage },
    created: new Date(epoch * 1_000).toISOString(),
    revision: commit(),
  };
  return Object.entries(values).map(
    ([key, value]) => `--label=org.opencontainers.image.${key}=${value}`,
  );
}
