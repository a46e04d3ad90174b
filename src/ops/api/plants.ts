import { excerpt } from '../../contract/excerpt.ts';
import { int64FromDigits, int64Max, int64Min } from '../../contract/int64.ts';
import { limits } from '../../limits.ts';
import type * as stored from '../../store/plants.ts';
import type { Handler } from '../answer.ts';
import type { PlantCount, PlantPage, StoredPlant } from '../contract.ts';
import type { ReaderThread } from '../reader.ts';
import { answerJson, isoTime, refuse } from './json.ts';
import { plantQuery } from './plant-query.ts';

/** One step of a search, as `plants list` does it, for at most `limits.ops.searchMs`. */
export function searchPlants(reader: ReaderThread): Handler {
  return async ({ query, signal }) => {
    const wanted = plantQuery(query);
    if (typeof wanted === 'string') return refuse('queryWrong', wanted);
    const { order, limit, match, after, before } = wanted;
    const search = { ...match, limit, budgetMs: limits.ops.searchMs };
    const found =
      order === 'id'
        ? await reader.read('searchPlants', [{ ...search, after }], signal)
        : await reader.read('newestPlants', [{ ...search, before }], signal);
    if (found === undefined) return refuse('queryWrong', wrongPosition);
    const { plants, next } = found;
    const reply = { plants: plants.map(plantReply), next: nextText(next) } satisfies PlantPage;
    return answerJson(reply);
  };
}

const wrongPosition = '`before` must be the `next` of an earlier reply of this store.';

/** One step of a count, as `plants count` does it, for about `limits.ops.searchMs`. */
export function countPlants(reader: ReaderThread): Handler {
  return async ({ query, signal }) => {
    const wanted = plantQuery(query);
    if (typeof wanted === 'string') return refuse('queryWrong', wanted);
    const { match, after } = wanted;
    const step = { ...match, after, budgetMs: limits.ops.searchMs };
    const { plants, next } = await reader.read('countMatches', [step], signal);
    return answerJson({ plants, next: nextText(next) } satisfies PlantCount);
  };
}

function nextText(next: string | bigint | undefined): string | null {
  return next === undefined ? null : `${next}`;
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
