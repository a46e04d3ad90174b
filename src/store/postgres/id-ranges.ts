import { int64Min } from '../../contract/int64.ts';
import { limits } from '../../limits.ts';

/** Ids behind `after`, or all if that is undefined, up to one. */
export interface IdRange {
  readonly after: bigint | undefined;
  readonly upTo: bigint;
}

/** The least and the greatest id of the plants to go through. */
export interface IdEnds {
  readonly first: bigint;
  readonly last: bigint;
}

/**
 * Goes through plants in ascending order of id, page by page, in ranges of ids that are as large as
 * the last full page. Without them, each part of a distributed table would send as many rows for
 * each page as fit into all of it.
 *
 * @param ends undefined if there are no plants
 * @param pageIn those of a range that fit into a page, and whether that is all of them
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
