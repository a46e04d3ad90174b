import { limits } from '../../limits.ts';
import type * as stored from '../../store/plants.ts';
import type { Handler } from '../answer.ts';
import type { PlantCount, PlantPage, StoredPlant } from '../contract.ts';
import type { ReaderThread } from '../reader.ts';
import { answerJson, isoTime, refuse } from './json.ts';
import { plantQuery, wrongPosition } from './plant-query.ts';

/** The plant with an id, or one step of a search, for at most `limits.ops.searchMs`. */
export function searchPlants(reader: ReaderThread): Handler {
  return async ({ query, signal }) => {
    const wanted = plantQuery(query);
    if (typeof wanted === 'string') return refuse('queryWrong', wanted);
    const { id, order, limit, match, after, before } = wanted;
    if (id !== undefined) {
      const plant = await reader.read('getPlant', [id], signal);
      return answerJson({ plants: plant ? [plantReply(plant)] : [], next: null });
    }
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

function plantReply({ id, name, tag, createdAtMs, createdBy }: stored.StoredPlant): StoredPlant {
  return { id: `${id}`, name, tag, createdAt: isoTime(createdAtMs), createdBy };
}
