/** Builds what is no Node program, each in a folder of its own below `results`. */
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Build {
  command: [string, ...string[]];
  env?: Record<string, string>;
  /** Path of the result in the folder. */
  result: string;
}

const optimized = '-O3 -march=native';

/** The versions of the dependencies of dependencies are chosen at the build. */
const go: Build = {
  command: ['go', 'build', '-mod=mod', '-buildvcs=false', '-ldflags=-s -w', '-o', 'peer'],
  env: { CGO_ENABLED: '1', CGO_CFLAGS: optimized },
  result: 'peer',
};

const builds = {
  rust: {
    command: ['cargo', 'build', '--release'],
    env: { RUSTFLAGS: '-C target-cpu=native', CFLAGS: optimized },
    result: 'target/release/plant-peer',
  },
  go,
  pocketbase: go,
  'sync-delay': {
    command: ['cc', '-O2', '-shared', '-fPIC', '-o', 'sync-delay.so', 'sync-delay.c'],
    result: 'sync-delay.so',
  },
} satisfies Record<string, Build>;

export type BuiltName = keyof typeof builds;
export type PeerName = Exclude<BuiltName, 'sync-delay'>;

/** Path of what is built. */
export function builtFile(name: BuiltName): string {
  return join(folderOf(name), builds[name].result);
}

/** The compiler and the packages, each with its version. */
export function builtVersions(name: PeerName): string {
  const compiler = execFileSync(builds[name].command[0], ['version'], { encoding: 'utf8' }).trim();
  const manifest = name === 'rust' ? 'Cargo.toml' : 'go.mod';
  const text = readFileSync(join(import.meta.dirname, name, manifest), 'utf8');
  const packages = [...text.matchAll(/([\w./-]+) (?:.*"=|v)(\d[\d.]+)/g)];
  return [compiler, ...packages.map(([, name, version]) => `${name} ${version}`)].join(', ');
}

/**
 * Builds unless the result is up to date.
 *
 * @returns the name of a tool that is missing here, or undefined
 * @throws Error when the build fails
 */
export function build(name: BuiltName): string | undefined {
  const { command, env }: Build = builds[name];
  const [tool, ...args] = command;
  // SQLite needs a C compiler.
  const missing = [tool, 'cc'].find((one) => spawnSync(one, ['version']).error !== undefined);
  if (missing !== undefined) return missing;
  const cwd = folderOf(name);
  cpSync(join(import.meta.dirname, name), cwd, { recursive: true, preserveTimestamps: true });
  execFileSync(tool, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 2, 2] });
  return undefined;
}

function folderOf(name: BuiltName): string {
  return join(import.meta.dirname, '../results/peers', name);
}
