import { mkdtempDisposableSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { CommandError } from '../cli/command.ts';
import {
  type FileSystem,
  fileSystemOf,
  nearestExisting,
  shortOfSpace,
} from '../disk/file-system.ts';
import { limits } from '../limits.ts';
import { resolveEngine } from '../store/engine.ts';
import { engineOf, postgresEngine } from '../store/engines.ts';
import {
  fileLocation,
  type PostgresLocation,
  type SqliteLocation,
  type StoreLocation,
} from '../store/location.ts';
import { fdatasyncTimesMs, percentile } from './fdatasync.ts';
import type { ProofOptions } from './proof.ts';

/** The disk or database under test, with the scratch store. Disposal removes everything. */
export interface Target extends Pick<ProofOptions, 'makeStore'>, Disposable {
  readonly lines: readonly string[];
  /** A warning: the reason why the proof is worth less. */
  readonly doubt: string | undefined;
  readonly record: object;
  /** Lines of the report: what the proof does not cover. */
  readonly unproved: readonly string[];
  readonly doctor: string;
  /** Statements that remove the scratch schema, if it could not be removed. */
  readonly left: readonly string[];
}

/** Opens what stands for the store: a folder beside the file, or schemas of the database. */
export async function openTarget(location: StoreLocation): Promise<Target> {
  return resolveEngine<Target | Promise<Target>>(
    { sqlite: openFileTarget, postgres: openDatabaseTarget },
    location,
  );
}

function openFileTarget(location: SqliteLocation): Target {
  const { path } = location;
  using opening = new DisposableStack();
  const scratch = opening.use(scratchFolder(nearestExisting(dirname(path))));
  const { type } = fileSystemOf(scratch.path);
  const syncs = fdatasyncTimesMs(join(scratch.path, 'fdatasync'), limits.prove.syncMs);
  const [p50, p99] = [percentile(syncs, 0.5), percentile(syncs, 0.99)];
  const opened = opening.move();
  return {
    makeStore: async () => ({
      location: fileLocation(join(scratch.path, 'plants.db')),
      async [Symbol.asyncDispose]() {},
    }),
    lines: [
      `disk      ${type?.name ?? 'of an unknown type'}, fdatasync p50 ${p50.toFixed(3)} ` +
        `ms, p99 ${p99.toFixed(3)} ms`,
    ],
    doubt: doubtOf(type, p50),
    record: { fileSystem: type?.name, fdatasyncP50Ms: p50, fdatasyncP99Ms: p99 },
    unproved: [
      'a kill is not a power cut: the kernel keeps what a killed process has written.',
      'Whether the drive keeps what it has synced shows only a power cut, or the times above.',
    ],
    doctor: engineOf(location).command('doctor'),
    left: [],
    [Symbol.dispose]: () => opened.dispose(),
  };
}

/** A new folder in `folder`. Disposal removes it. @throws CommandError */
function scratchFolder(folder: string): Disposable & { path: string } {
  const tooFull = shortOfSpace(folder, limits.prove.freeBytesMin);
  if (tooFull !== undefined)
    throw new CommandError(`${tooFull}; make room, or name a store elsewhere with --store`);
  try {
    return mkdtempDisposableSync(join(folder, 'plant-store-prove-'));
  } catch (cause) {
    throw new CommandError(
      `cannot make a folder in ${folder} (${(cause as Error).message}); run this as the ` +
        'user that the store belongs to, or name a store elsewhere with --store',
      { cause },
    );
  }
}

function doubtOf(type: FileSystem['type'], syncP50Ms: number): string | undefined {
  if (type?.kind === 'memory')
    return `${type.name} is memory: nothing in it outlives a power cut, even if the proof passes`;
  if (syncP50Ms >= limits.prove.syncMsMin) return undefined;
  return 'no drive syncs so fast, but for one whose cache survives a power loss; does yours?';
}

async function openDatabaseTarget(location: PostgresLocation): Promise<Target> {
  const engine = postgresEngine(location);
  const { level, says } = (await engine.condition()).server.durability;
  if (level === 'lost') throw new CommandError(`there is nothing to prove: ${says}; switch it on`);
  const left: string[] = [];
  return {
    async makeStore() {
      const schema = await engine.makeScratchSchema();
      return {
        location: schema.location,
        // The proof reports the fault of the database.
        [Symbol.asyncDispose]: () =>
          schema.drop().catch(() => void left.push(`DROP SCHEMA ${schema.name} CASCADE`)),
      };
    },
    lines: [`database  ${engine.url}`, `promise   ${says}`],
    doubt: undefined,
    record: { database: engine.url, promise: says },
    unproved: [
      'only the service was killed, not the database, which promises the above;',
      'only a power cut of the database, or a failover to a standby, shows whether it does.',
    ],
    doctor: engine.command('doctor'),
    left,
    [Symbol.dispose]() {},
  };
}
