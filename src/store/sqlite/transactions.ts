import type { DatabaseSync } from 'node:sqlite';
import type { CopiedPlant, CreateOutcome, PlantToCreate } from '../plants.ts';

/** What one transaction does. Times are milliseconds since the epoch. */
export function prepareTransactions(db: DatabaseSync) {
  // `run` reports the last inserted id, which needs a bigint above 2^53.
  const prepare = (sql: string) => db.prepare(sql, { readBigInts: true });
  const insert = prepare(
    `INSERT INTO plants (id, name, tag, created_at, created_by) VALUES (?, ?, ?, ?, ?) ON
      CONFLICT (id) DO NOTHING`,
  );
  const select = prepare('SELECT name, tag FROM plants WHERE id = ?');
  const journal = prepare(
    `INSERT INTO arrivals (created_at, ids) VALUES
       (max(?, coalesce((SELECT created_at FROM arrivals ORDER BY seq DESC LIMIT 1), 0)), ?)`,
  );
  const upsertBeat = prepare('INSERT OR REPLACE INTO heartbeat (id, beaten_at) VALUES (1, ?)');

  function createPlant(plant: PlantToCreate, createdAtMs: number): CreateOutcome {
    const { id, name, tag = null, createdBy } = plant;
    if (insert.run(id, name, tag, createdAtMs, createdBy).changes === 1n) return 'created';
    const stored = select.get(id);
    return stored?.['name'] === name && stored['tag'] === tag ? 'same' : 'taken';
  }

  return {
    createPlants(plants: readonly (PlantToCreate | CopiedPlant)[], nowMs: number): CreateOutcome[] {
      const outcomes: CreateOutcome[] = [];
      const created: bigint[] = [];
      for (const plant of plants) {
        const outcome = createPlant(plant, 'createdAtMs' in plant ? plant.createdAtMs : nowMs);
        outcomes.push(outcome);
        if (outcome === 'created') created.push(plant.id);
      }
      if (created.length > 0)
        journal.run(nowMs, new Uint8Array(BigInt64Array.from(created).buffer));
      return outcomes;
    },
    beat: (atMs: number) => void upsertBeat.run(atMs),
  };
}
