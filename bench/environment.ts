/** What figures depend on besides the code. Tables, plots and the JSON show it. */
import { readFileSync, statfsSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { fileSystemType } from '../src/disk/file-system.ts';

export interface Environment {
  cpu: string;
  cores: number;
  memoryBytes: number;
  system: string;
  /** Of the stores. On tmpfs a sync costs nothing, and ratios to targets without sync mislead. */
  fileSystem: string;
  /** Of the last minute. Programs besides the benchmark make it larger than 0. */
  loadAverage: number;
  versions: Record<string, string>;
}

export function describeEnvironment(storeDirectory: string): Environment {
  const type = statfsSync(storeDirectory).type;
  return {
    cpu: os.cpus()[0]?.model ?? 'unknown',
    cores: os.availableParallelism(),
    memoryBytes: os.totalmem(),
    system: `${os.platform()} ${os.release()} ${os.arch()}`,
    fileSystem: fileSystemType(type)?.name ?? `file system type 0x${type.toString(16)}`,
    loadAverage: os.loadavg()[0] ?? 0,
    versions: {
      node: process.versions.node,
      sqlite: process.versions['sqlite'] ?? 'none',
      ...peerVersions(),
    },
  };
}

function peerVersions(): Record<string, string> {
  const manifest = readFileSync(join(import.meta.dirname, 'peers/package.json'), 'utf8');
  return JSON.parse(manifest).dependencies;
}

export function machineText({ cpu, cores, memoryBytes, system, fileSystem }: Environment): string {
  return `${cpu}, ${cores} cores, ${Math.round(memoryBytes / 2 ** 30)} GiB, ${system}, ${fileSystem}`;
}

export function versionsText({ versions }: Environment): string {
  return Object.entries(versions)
    .map((entry) => entry.join(' '))
    .join(', ');
}
