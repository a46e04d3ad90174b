import { hash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import type { NewPlant } from '../../contract/plant.ts';
import { limits } from '../../limits.ts';
import type { CreateOutcome, PlantReader, PlantWriter } from '../../store/plants.ts';
import { CommandError } from '../command.ts';

/** Creates nothing, and tells the outcomes that creates would have, one after the other. */
export interface DryStore extends Pick<PlantWriter, 'createPlants'>, Disposable {}

/**
 * @param reader of the store; undefined if there is no store yet
 */
export function openDryStore(reader: Pick<PlantReader, 'outcomesOf'> | undefined): DryStore {
  const earlier = openEarlierPlants();
  return {
    async createPlants(plants) {
      const outcomes = await reader?.outcomesOf(plants);
      return plants.map((plant, index) => {
        const outcome = outcomes?.[index] ?? 'created';
        return outcome === 'created' ? earlier.add(plant) : outcome;
      });
    },
    [Symbol.dispose]: () => earlier.close(),
  };
}

/**
 * The new plants of the file so far, which the store would hold by now. They are in a temporary
 * database without a name: SQLite moves what is too much for its cache to a file that is gone when
 * the process ends.
 */
function openEarlierPlants() {
  const db = new DatabaseSync('');
  db.exec(`PRAGMA journal_mode = OFF; PRAGMA cache_size = -${limits.cli.dryRunCacheKiB};
    CREATE TABLE earlier (id INTEGER PRIMARY KEY, digest BLOB NOT NULL) STRICT; BEGIN`);
  const insert = db.prepare('INSERT OR IGNORE INTO earlier VALUES (?, ?)');
  // The last inserted id, which SQLite always tells, may be beyond 2^53.
  insert.setReadBigInts(true);
  const select = db.prepare('SELECT digest FROM earlier WHERE id = ?');
  return {
    add({ id, name, tag }: NewPlant): CreateOutcome {
      const digest = hash('sha256', JSON.stringify([name, tag]), 'buffer');
      try {
        if (insert.run(id, digest).changes === 1n) return 'created';
        return digest.equals(select.get(id)?.['digest'] as Uint8Array) ? 'same' : 'taken';
      } catch (cause) {
        if (!(cause instanceof Error && 'errcode' in cause)) throw cause;
        throw new CommandError(
          `cannot keep the ids of the file for the comparison (${cause.message}); set SQLITE_TMPDIR to a folder with more room`,
          { cause },
        );
      }
    },
    close: () => db.close(),
  };
}
