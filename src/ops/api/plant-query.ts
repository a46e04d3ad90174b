import { int64FromDigits } from '../../contract/int64.ts';
import { zonedTime } from '../../contract/zoned-time.ts';
import { limits } from '../../limits.ts';
import { isPosition } from '../../store/plant-search.ts';
import type { MatchCount, NewestSearch, PlantMatch, PlantSearch } from '../../store/plants.ts';

type Query = Readonly<Record<string, string>>;

/** A search in one of the two orders. */
type OrderedSearch =
  | { readonly order: 'id'; readonly search: PlantSearch }
  | { readonly order: 'newest'; readonly search: NewestSearch };

/**
 * What the query asks for. An empty field counts as absent.
 *
 * @returns a message if the query is wrong
 */
export function orderedSearch(
  query: Query,
  bounds: Pick<PlantSearch, 'limit' | 'budgetMs'>,
): OrderedSearch | string {
  const match = matchFrom(query);
  if (typeof match === 'string') return match;
  const { after, before } = query;
  const search = { ...match, ...bounds };
  switch (query['order'] || 'id') {
    case 'id': {
      if (before) return '`before` needs `order=newest`.';
      const place = placeFrom(after);
      return typeof place === 'string' ? place : { order: 'id', search: { ...search, ...place } };
    }
    case 'newest':
      if (after) return '`after` needs `order=id`.';
      if (before && !isPosition(before)) return wrongPosition;
      return { order: 'newest', search: { ...search, before: before || undefined } };
    default:
      return '`order` must be id or newest.';
  }
}

/** @returns a message if the query is wrong */
export function matchCount(query: Query, budgetMs: number): MatchCount | string {
  const match = matchFrom(query);
  if (typeof match === 'string') return match;
  const place = placeFrom(query['after']);
  return typeof place === 'string' ? place : { ...match, ...place, budgetMs };
}

function placeFrom(after: string | undefined): Pick<MatchCount, 'after'> | string {
  if (!after) return {};
  const id = int64FromDigits(after);
  return id === undefined ? '`after` must be an id.' : { after: id };
}

/** @returns a message if the limit is wrong */
export function pageLimit(query: Query): number | string {
  const { searchPlantsMax, searchPlantsDefault } = limits.ops;
  const { limit = `${searchPlantsDefault}` } = query;
  const plants = /^[0-9]{1,4}$/.test(limit) ? Number(limit) : 0;
  if (plants >= 1 && plants <= searchPlantsMax) return plants;
  return `\`limit\` must be a whole number from 1 to ${searchPlantsMax}.`;
}

function matchFrom(query: Query): PlantMatch | string {
  const { searchTextCharsMax } = limits.ops;
  const texts = ['name', 'tag', 'createdBy'] as const;
  const long = texts.find((field) => (query[field] ?? '').length > searchTextCharsMax);
  if (long) return `\`${long}\` has at most ${searchTextCharsMax} characters.`;
  const { name, tag, createdBy, since, until } = query;
  const [sinceMs, untilMs] = [since, until].map((time) => (time ? zonedTime(time) : undefined));
  if (Number.isNaN(sinceMs)) return `\`since\` ${noTime}`;
  if (Number.isNaN(untilMs)) return `\`until\` ${noTime}`;
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs >= untilMs)
    return '`since` must be before `until`.';
  return {
    nameContains: name || undefined,
    tag: tag || undefined,
    createdBy: createdBy || undefined,
    sinceMs,
    untilMs,
  };
}

/** Of a search for the newest plants. */
export const wrongPosition = '`before` must be the `next` of an earlier reply of this store.';

const noTime = 'must be a time with its zone, such as 2026-11-22T07:14:49Z.';
