import { int64FromDigits } from '../../contract/int64.ts';
import { zonedTime } from '../../contract/zoned-time.ts';
import { limits } from '../../limits.ts';
import type { PlantMatch } from '../../store/plants.ts';

/** A search in one of the two orders, or a count. */
interface PlantQuery {
  readonly order: 'id' | 'newest';
  readonly limit: number;
  readonly match: PlantMatch;
  readonly after: bigint | undefined;
  readonly before: string | undefined;
}

/**
 * What the query asks for. An empty field counts as absent.
 *
 * @returns a message if the query is wrong
 */
export function plantQuery(query: Readonly<Record<string, string>>): PlantQuery | string {
  const { searchPlantsMax, searchPlantsDefault } = limits.ops;
  const { after = '', before = '' } = query;
  const order = query['order'] || 'id';
  if (order !== 'id' && order !== 'newest') return '`order` must be id or newest.';
  if (before && order === 'id') return '`before` needs `order=newest`.';
  if (after && order === 'newest') return '`after` needs `order=id`.';
  const afterId = int64FromDigits(after);
  if (after && afterId === undefined) return '`after` must be an id.';
  const { limit: digits = `${searchPlantsDefault}` } = query;
  const limit = /^[0-9]{1,4}$/.test(digits) ? Number(digits) : 0;
  if (limit < 1 || limit > searchPlantsMax)
    return `\`limit\` must be a whole number from 1 to ${searchPlantsMax}.`;
  const match = matchFrom(query);
  if (typeof match === 'string') return match;
  return { order, limit, match, after: afterId, before: before || undefined };
}

function matchFrom(query: Readonly<Record<string, string>>): PlantMatch | string {
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

const noTime = 'must be a time with its zone, such as 2026-11-22T07:14:49Z.';
