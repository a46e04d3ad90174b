import type { Handler } from 'hono';
import { excerpt } from '../../contract/excerpt.ts';
import { int64FromDigits, int64Max, int64Min } from '../../contract/int64.ts';
import { limits } from '../../limits.ts';
import type * as stored from '../../store/plants.ts';
import type { PlantCount, PlantPage, StoredPlant } from '../contract.ts';
import type { ReaderThread } from '../reader.ts';
import { isoTime, refuse } from './json.ts';
import { flagFrom, matchCount, orderedSearch, pageLimit, wrongPosition } from './plant-query.ts';

/** One step of a search, as `plants list` does it, for at most `limits.ops.searchMs`. */
export function searchPlants(reader: ReaderThread): Handler {
  return async (context) => {
    const query = context.req.query();
    const limit = pageLimit(query);
    if (typeof limit === 'string') return refuse(context, 'queryWrong', limit);
    const wanted = orderedSearch(query, { limit, budgetMs: limits.ops.searchMs });
    if (typeof wanted === 'string') return refuse(context, 'queryWrong', wanted);
    const { signal } = context.req.raw;
    if (wanted.order === 'id') {
      const { plants, next } = await reader.read('searchPlants', [wanted.search], signal);
      return context.json(pageReply(plants, next));
    }
    const found = await reader.read('newestPlants', [wanted.search], signal);
    if (found === undefined) return refuse(context, 'queryWrong', wrongPosition);
    return context.json(pageReply(found.plants, found.next, found.reachedAtMs));
  };
}

function pageReply(
  plants: readonly stored.StoredPlant[],
  next: string | bigint | undefined,
  reachedAtMs?: number,
): PlantPage {
  return {
    plants: plants.map(plantReply),
    next: next === undefined ? null : `${next}`,
    reachedAt: isoTime(reachedAtMs),
  };
}

/** One step of a count, as `plants count` does it, for about `limits.ops.searchMs`. */
export function countPlants(reader: ReaderThread): Handler {
  return async (context) => {
    const query = context.req.query();
    const wanted = matchCount(query, limits.ops.searchMs);
    if (typeof wanted === 'string') return refuse(context, 'queryWrong', wanted);
    const isByCreator = flagFrom(query, 'byCreator');
    if (typeof isByCreator === 'string') return refuse(context, 'queryWrong', isByCreator);
    const { signal } = context.req.raw;
    if (!isByCreator)
      return context.json(countReply(await reader.read('countMatches', [wanted], signal)));
    const counted = await reader.read('countByCreator', [wanted], signal);
    return context.json({
      ...countReply(counted),
      byCreator: Object.fromEntries(counted.byCreator),
    } satisfies PlantCount);
  };
}

function countReply({ plants, next }: stored.CountedMatches): PlantCount {
  return { plants, next: next === undefined ? null : `${next}` };
}

export function showPlant(reader: ReaderThread): Handler {
  return async (context) => {
    const digits = context.req.param('id') ?? '';
    const id = int64FromDigits(digits);
    if (id === undefined) return refuse(context, 'queryWrong', noId(digits));
    const plant = await reader.read('getPlant', [id], context.req.raw.signal);
    if (!plant) return refuse(context, 'recordUnknown', `There is no plant with the id ${id}.`);
    return context.json(plantReply(plant) satisfies StoredPlant);
  };
}

function noId(text: string): string {
  return `${excerpt(text)} is not an integer within int64: from ${int64Min} to ${int64Max}, in plain digits.`;
}

function plantReply({ id, name, tag, createdAtMs, createdBy }: stored.StoredPlant): StoredPlant {
  return { id: `${id}`, name, tag, createdAt: isoTime(createdAtMs), createdBy };
}
