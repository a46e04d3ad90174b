import { int64Min } from '../../contract/int64.ts';
import { limits } from '../../limits.ts';

/** Ids after `after`, or from the least id on. */
export interface IdRange {
  readonly after: bigint | undefined;
  readonly upTo: bigint;
}

export interface IdEnds {
  readonly first: bigint;
  readonly last: bigint;
}

/**
 * Yields plants in ascending order of id, page by page. Each page asks for a range of ids, as large
 * as the last full page: without a range, each shard of a distributed table would send a full page
 * of rows.
 *
 * @param ends undefined if there are no plants
 * @param pageIn reads the plants of a range that fit into a page, and whether they are all
 */
export async function* pagesByIdRange<P extends { readonly id: bigint }>(
  ends: IdEnds | undefined,
  pageIn: (range: IdRange) => Promise<{ readonly plants: readonly P[]; readonly isLast: boolean }>,
): AsyncGenerator<readonly P[]> {
  if (ends === undefined) return;
  let ids = BigInt(limits.postgres.pageRows);
  for (let from = ends.first; from <= ends.last; ) {
    const upTo = from + ids < ends.last ? from + ids : ends.last;
    const { plants, isLast } = await pageIn({
      after: from === int64Min ? undefined : from - 1n,
      upTo,
    });
    if (plants.length > 0) yield plants;
    const reached = isLast ? upTo : (plants.at(-1)?.id as bigint);
    ids = isLast ? 2n * ids : reached - from + 1n;
    from = reached + 1n;
  }
}
