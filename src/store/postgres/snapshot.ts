import type { CopiedPlant, PlantSnapshot } from '../plants.ts';
import type { Connector } from './connector.ts';
import { storeError } from './errors.ts';
import { countPlants, snapshotPage } from './plant-rows.ts';
import { within } from './pool.ts';
import { type Query, snapshot } from './transaction.ts';

/** A read transaction on its own connection. @param readMs time per query @throws StoreError */
export async function openPostgresSnapshot(
  connector: Connector,
  readMs: number,
): Promise<PlantSnapshot> {
  const connection = await connector.connect(readMs);
  const run = <T>(work: (query: Query) => Promise<T>) =>
    within(connection, readMs, work).catch((error) => {
      throw storeError(error);
    });
  try {
    await run(begin);
  } catch (error) {
    connection.destroy();
    throw error;
  }
  return {
    countPlants: () => run(countPlants),
    pages: () => pages(run),
    [Symbol.asyncDispose]: async () => connection.destroy(),
  };
}

/** The first read takes the snapshot. A slow reader may pause between two pages. */
async function begin(query: Query): Promise<void> {
  await query.begin(snapshot);
  await query('SELECT 1 FROM plants LIMIT 1');
}

async function* pages(
  run: <T>(work: (query: Query) => Promise<T>) => Promise<T>,
): AsyncGenerator<readonly CopiedPlant[]> {
  let after: bigint | undefined;
  for (;;) {
    const { plants, isLast } = await run((query) => snapshotPage(query, after));
    if (plants.length > 0) yield plants;
    if (isLast) return;
    after = plants.at(-1)?.id;
  }
}
