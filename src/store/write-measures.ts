import {
  type Measures,
  measuresIn,
  measuresMemory,
  plantsBounds,
  record,
  secondsBounds,
  writerLayout,
} from '../threads/measures.ts';
import type { Settlement } from './plants.ts';
import type { StoreShare } from './store.ts';

type WriterMeasures = Measures<typeof writerLayout>;

export function openShares(memory: SharedArrayBuffer) {
  const writers: WriterMeasures[] = [];
  return {
    writers,
    share(): StoreShare {
      const measures = measuresMemory(writerLayout);
      writers.push(measuresIn(writerLayout, measures));
      return { memory, measures };
    },
  };
}

export async function measured(
  { commitSeconds, batchPlants }: WriterMeasures,
  transaction: Promise<readonly Settlement[]>,
): Promise<readonly Settlement[]> {
  const startedMs = performance.now();
  const settlements = await transaction;
  record(commitSeconds, secondsBounds, (performance.now() - startedMs) / 1_000);
  record(batchPlants, plantsBounds, settlements.length);
  return settlements;
}
