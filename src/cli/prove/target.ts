import { mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { postgresVariables } from '../../config/postgres/variables.ts';
import {
  type FileSystem,
  fileSystemOf,
  nearestExisting,
  shortOfSpace,
} from '../../disk/file-system.ts';
import { limits } from '../../limits.ts';
import { fdatasyncTimesMs } from '../../prove/fdatasync.ts';
import { percentile } from '../../prove/percentile.ts';
import type { ProofOptions } from '../../prove/proof.ts';
import { scratchFile } from '../../prove/scratch-store.ts';
import type { PostgresLocation, SqliteLocation } from '../../store/location.ts';
import { postgresEngine } from '../../stores.ts';
import { CommandError } from '../command.ts';

/**
 * Where `prove` has its stores, and what is to be said of that. Disposing of it leaves nothing
 * behind.
 */
export interface Target extends Pick<ProofOptions, 'makeStore'>, Disposable {
  /** For the report, above all else. */
  readonly lines: readonly string[];
  /** What makes the proof worth less. */
  readonly doubt: string | undefined;
  /** The same for `--json`. */
  readonly record: object;
  /** What is not tried. */
  readonly unproved: readonly string[];
  /** The statements that remove what could not be removed. */
  readonly left: readonly string[];
}

/** @throws CommandError */
export function openFileTarget({ path }: SqliteLocation): Target {
  const scratch = scratchFolder(nearestExisting(dirname(path)));
  const { type } = fileSystemOf(scratch.path);
  const syncs = fdatasyncTimesMs(join(scratch.path, 'fdatasync'), limits.prove.syncMs);
  const [p50, p99] = [percentile(syncs, 0.5), percentile(syncs, 0.99)];
  return {
    makeStore: async (name) => scratchFile(scratch.path, name),
    lines: [
      `disk      ${type?.name ?? 'of an unknown type'}, fdatasync p50 ${p50.toFixed(3)} ms, p99 ${p99.toFixed(3)} ms`,
    ],
    doubt: doubtOf(type, p50),
    record: { fileSystem: type?.name, fdatasyncP50Ms: p50, fdatasyncP99Ms: p99 },
    unproved: [
      'a killed process is no power cut: the kernel kept what it had written. Whether the drive keeps what it has synced',
      'shows only when its power is cut; the times of fdatasync above are all that this says about it.',
    ],
    left: [],
    [Symbol.dispose]: scratch[Symbol.dispose],
  };
}

/** A new folder in `folder`, with all that is in it removed at the end. */
function scratchFolder(folder: string): Disposable & { path: string } {
  const tooFull = shortOfSpace(folder, limits.prove.freeBytesMin);
  if (tooFull !== undefined)
    throw new CommandError(`${tooFull}; make room, or name a store elsewhere with --store`);
  try {
    const path = mkdtempSync(join(folder, 'plant-store-prove-'));
    return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
  } catch (cause) {
    throw new CommandError(
      `cannot make a folder in ${folder} (${(cause as Error).message}); run this as the user that the store belongs to, or name a store elsewhere with --store`,
      { cause },
    );
  }
}

function doubtOf(type: FileSystem['type'], syncP50Ms: number): string | undefined {
  if (type?.kind === 'memory')
    return `${type.name} is memory: nothing in it outlives a power cut, whatever a kill shows`;
  if (syncP50Ms >= limits.prove.syncMsMin) return undefined;
  return 'no drive syncs so fast, unless its cache is protected against the loss of power: if yours is not, it or the hypervisor does not sync';
}

/** @throws CommandError, StoreError, StoreOpenError */
export async function openDatabaseTarget(location: PostgresLocation): Promise<Target> {
  const engine = postgresEngine(location);
  const { level, says } = await engine.promise();
  if (level === 'lost')
    throw new CommandError(
      `there is nothing to prove: ${says}; set it to on for the server or the role`,
    );
  const left: string[] = [];
  return {
    async makeStore() {
      const schema = await engine.makeScratchSchema();
      return {
        location: schema.location,
        flag: 'postgres://',
        env: postgresVariables(schema.location),
        // What is wrong with the database is told by the proof.
        [Symbol.asyncDispose]: () =>
          schema.drop().catch(() => void left.push(`DROP SCHEMA ${schema.name} CASCADE`)),
      };
    },
    lines: [`database  ${engine.text}`, `promise   ${says}`],
    doubt: undefined,
    record: { database: engine.text, promise: says },
    unproved: [
      'the service was killed, and the database never: that it keeps what it has committed is what its settings promise above,',
      'and shows only when its own power is cut, or when a standby takes over from it.',
    ],
    left,
    [Symbol.dispose]() {},
  };
}
