import { excerpt } from '../../contract/excerpt.ts';
import { int64FromDigits, int64Max, int64Min } from '../../contract/int64.ts';
import { limits } from '../../limits.ts';
import type * as stored from '../../store/plants.ts';
import type { Handler } from '../answer.ts';
import type { PlantCount, PlantPage, StoredPlant } from '../contract.ts';
import type { ReaderThread } from '../reader.ts';
import { answerJson, isoTime, refuse } from './json.ts';
import { matchCount, orderedSearch, pageLimit, wrongPosition } from './plant-query.ts';

/** One step of a search, as `plants list` does it, for at most `limits.ops.searchMs`. */
export function searchPlants(reader: ReaderThread): Handler {
  return async ({ query, signal }) => {
    const limit = pageLimit(query);
    if (typeof limit === 'string') return refuse('queryWrong', limit);
    const wanted = orderedSearch(query, { limit, budgetMs: limits.ops.searchMs });
    if (typeof wanted === 'string') return refuse('queryWrong', wanted);
    if (wanted.order === 'id') {
      const { plants, next } = await reader.read('searchPlants', [wanted.search], signal);
      return answerJson(pageReply(plants, next));
    }
    const found = await reader.read('newestPlants', [wanted.search], signal);
    if (found === undefined) return refuse('queryWrong', wrongPosition);
    return answerJson(pageReply(found.plants, found.next));
  };
}

function pageReply(
  plants: readonly stored.StoredPlant[],
  next: string | bigint | undefined,
): PlantPage {
  return {
    plants: plants.map(plantReply),
    next: next === undefined ? null : `${next}`,
  };
}

/** One step of a count, as `plants count` does it, for about `limits.ops.searchMs`. */
export function countPlants(reader: ReaderThread): Handler {
  return async ({ query, signal }) => {
    const wanted = matchCount(query, limits.ops.searchMs);
    if (typeof wanted === 'string') return refuse('queryWrong', wanted);
    const { plants, next } = await reader.read('countMatches', [wanted], signal);
    const reply: PlantCount = { plants, next: next === undefined ? null : `${next}` };
    return answerJson(reply);
  };
}

export function showPlant(reader: ReaderThread): Handler {
  return async ({ url, signal }) => {
    const digits = url.pathname.slice('/api/plants/'.length);
    const id = int64FromDigits(digits);
    if (id === undefined) return refuse('queryWrong', noId(digits));
    const plant = await reader.read('getPlant', [id], signal);
    if (!plant) return refuse('recordUnknown', `There is no plant with the id ${id}.`);
    return answerJson(plantReply(plant) satisfies StoredPlant);
  };
}

function noId(text: string): string {
  const range = `from ${int64Min} to ${int64Max}, in plain digits`;
  return `${excerpt(text)} is not an integer within int64: ${range}.`;
}

function plantReply({ id, name, tag, createdAtMs, createdBy }: stored.StoredPlant): StoredPlant {
  return { id: `${id}`, name, tag, createdAt: isoTime(createdAtMs), createdBy };
}
