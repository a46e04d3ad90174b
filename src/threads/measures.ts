/*
 * Measures in shared memory. One thread writes a cell, in a few nanoseconds and without a lock. All
 * threads may read it.
 */

/** Cells of each measure: 1 for a number, `histogramCells(bounds)` for a histogram. */
type Layout = Readonly<Record<string, number>>;

export type Measures<L extends Layout> = { readonly [N in keyof L]: Float64Array };

/** Upper bounds of the classes of times: 10 µs to 7 s, each some 1.4 times the bound before. */
export const secondsBounds: readonly number[] = [1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1].flatMap(
  (decade) => [1, 1.5, 2, 3, 5, 7].map((step) => Number((decade * step).toPrecision(2))),
);

export const plantsBounds: readonly number[] = [
  1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000,
];

function histogramCells(bounds: readonly number[]): number {
  // The sum, a count for each class, and a count of the values above all bounds.
  return 1 + bounds.length + 1;
}

export const httpThreadLayout = {
  created: 1,
  same: 1,
  taken: 1,
  refused: 1,
  failed: 1,
  /** By problem, in the order of the catalogue, with room for more. */
  refusals: 64,
  /** From the head of an authorized create to its outcome. */
  createSeconds: histogramCells(secondsBounds),
  /** Age of the plant that has waited longest, measured every second. */
  queueAgeSeconds: 1,
  eventLoopLagSeconds: 1,
  /** The oldest of the last reads of all identity providers, in seconds since the epoch. */
  issuerKeysReadSeconds: 1,
};

export const writerLayout = {
  /** Time to the end of the sync, and plants, of a transaction that creates plants. */
  commitSeconds: histogramCells(secondsBounds),
  batchPlants: histogramCells(plantsBounds),
  connections: 1,
  /** Time to copy the WAL into the file of the store. */
  checkpointSeconds: histogramCells(secondsBounds),
};

export function measuresMemory(layout: Layout): SharedArrayBuffer {
  const cells = Object.values(layout).reduce((sum, count) => sum + count, 0);
  return new SharedArrayBuffer(cells * Float64Array.BYTES_PER_ELEMENT);
}

export function measuresIn<L extends Layout>(layout: L, memory: SharedArrayBuffer): Measures<L> {
  let offset = 0;
  const entries = Object.entries(layout).map(([name, cells]) => {
    const view = new Float64Array(memory, offset, cells);
    offset += view.byteLength;
    return [name, view] as const;
  });
  return Object.fromEntries(entries) as Measures<L>;
}

export function count(cells: Float64Array, by = 1, index = 0): void {
  cells[index] = (cells[index] as number) + by;
}

export function record(cells: Float64Array, bounds: readonly number[], value: number): void {
  let index = 0;
  while (index < bounds.length && value > (bounds[index] as number)) index += 1;
  count(cells, value);
  count(cells, 1, 1 + index);
}

type Distribution = ReturnType<typeof distributionOf>;

/** The sum of the histograms of several threads. The last class is above all bounds. */
export function distributionOf(histograms: readonly Float64Array[]) {
  const [sum = 0, ...classes] = sumOf(histograms);
  return { sum, classes, count: classes.reduce((total, values) => total + values, 0) };
}

export function since(now: Distribution, before: Distribution): Distribution {
  return {
    sum: now.sum - before.sum,
    count: now.count - before.count,
    classes: now.classes.map((values, index) => values - (before.classes[index] ?? 0)),
  };
}

/** Interpolated within a class. Undefined without values. */
export function quantile(
  { classes, count }: Distribution,
  bounds: readonly number[],
  share: number,
): number | undefined {
  if (count === 0) return undefined;
  let left = share * count;
  for (const [index, values] of classes.entries()) {
    const upper = bounds[index];
    if (upper === undefined) return bounds.at(-1);
    const lower = bounds[index - 1] ?? 0;
    if (values > 0 && left <= values) return lower + (upper - lower) * (left / values);
    left -= values;
  }
  return bounds.at(-1);
}

export function sumOf(measures: readonly Float64Array[]): number[] {
  return Array.from(measures[0] ?? [], (_, index) =>
    measures.reduce((sum, cells) => sum + (cells[index] ?? 0), 0),
  );
}
