/** What the figures depend on besides the code: printed with them and kept in the JSON. */
import { readFileSync, statfsSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';
import { fileSystemType } from '../src/disk/file-system.ts';

export interface Environment {
  cpu: string;
  cores: number;
  memoryBytes: number;
  system: string;
  /**
   * Of the stores. On tmpfs an fsync costs nothing, and a comparison of durable with not durable
   * says nothing.
   */
  fileSystem: string;
  /** Over the minute before the run: anything well above 0 competed with it. */
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
  return JSON.parse(readFileSync(join(import.meta.dirname, 'peers/package.json'), 'utf8'))
    .dependencies;
}
