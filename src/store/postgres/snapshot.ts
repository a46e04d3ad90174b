import { limits } from '../../limits.ts';
import { countPlants, plantOf } from '../plant-rows.ts';
import type { CopiedPlant, PlantSnapshot } from '../plants.ts';
import type { Connector } from './connector.ts';
import { storeError } from './errors.ts';
import { rowPage } from './plant-rows.ts';
import { within } from './pool.ts';
import { runSteps } from './steps.ts';
import { type Query, snapshot } from './transaction.ts';

/** A read transaction on its own connection. @throws StoreError */
export async function openPostgresSnapshot(connector: Connector): Promise<PlantSnapshot> {
  const connection = await connector.connect();
  const run = <T>(work: (query: Query) => Promise<T>) =>
    within(connection, connector.callMs, work).catch((error) => {
      throw storeError(error);
    });
  try {
    // The first read takes the snapshot. A slow reader may pause between two pages.
    await run(async (query) => {
      await query.begin(snapshot);
      await query('SELECT 1 FROM plants LIMIT 1');
    });
  } catch (error) {
    connection.destroy();
    throw error;
  }
  return {
    countPlants: () => run((query) => runSteps(query, countPlants())),
    pages: () => pagesOf(run),
    [Symbol.asyncDispose]: async () => connection.destroy(),
  };
}

async function* pagesOf(
  run: <T>(work: (query: Query) => Promise<T>) => Promise<T>,
): AsyncGenerator<readonly CopiedPlant[]> {
  const { snapshotPagePlants, snapshotPageChars } = limits.store;
  let after: bigint | undefined;
  for (;;) {
    const next = [['id > ?', after]] as const;
    const { rows, isLast } = await run((query) =>
      rowPage(query, 'id', next, snapshotPagePlants, snapshotPageChars),
    );
    if (rows.length > 0) yield rows.map(plantOf);
    if (isLast) return;
    after = rows.at(-1)?.[0];
  }
}
