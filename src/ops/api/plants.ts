import { int64FromDigits, int64Max, int64Min } from '../../contract/int64.ts';
import { limits } from '../../limits.ts';
import { isoTime } from '../../quantity-text.ts';
import type * as stored from '../../store/plants.ts';
import type { Handler } from '../answer.ts';
import type { PlantPage, StoredPlant } from '../contract.ts';
import type { ReaderThread } from '../reader.ts';
import { answerJson, refuse } from './json.ts';

/** The plant with an id, or one step of a search, for at most `limits.ops.searchMs`. */
export function searchPlants(reader: ReaderThread): Handler {
  return async ({ query, signal }) => {
    const wanted = plantQuery(query);
    if (typeof wanted === 'string') return refuse('queryWrong', wanted);
    const { id, order, limit, match, from } = wanted;
    if (id !== undefined) {
      const plant = await reader.read('getPlant', [id], signal);
      return answerJson({ plants: plant ? [plantReply(plant)] : [], next: null });
    }
    const isNewestFirst = order === 'newest';
    const search = { ...match, limit, isNewestFirst, from, budgetMs: limits.ops.searchMs };
    const found = await reader.read('searchPlants', [search], signal);
    if (found === undefined)
      return refuse(
        'queryWrong',
        isNewestFirst
          ? '`before` must be the `next` of an earlier reply of this store.'
          : '`after` must be an id.',
      );
    const { plants, next = null } = found;
    return answerJson({ plants: plants.map(plantReply), next } satisfies PlantPage);
  };
}

function plantReply({ id, name, tag, createdAtMs, createdBy }: stored.StoredPlant): StoredPlant {
  return { id: `${id}`, name, tag, createdAt: isoTime(createdAtMs), createdBy };
}

/**
 * What the query asks for. An empty field counts as absent.
 *
 * @returns a message if the query is wrong
 */
function plantQuery(query: Readonly<Record<string, string>>) {
  const { searchPlantsMax, searchPlantsDefault } = limits.ops;
  const { id: digitsOfId = '', after = '', before = '' } = query;
  const id = int64FromDigits(digitsOfId);
  if (digitsOfId && id === undefined)
    return `\`id\` must be an integer from ${int64Min} to ${int64Max}, in plain digits.`;
  if (digitsOfId && filters.some((name) => query[name]))
    return 'A search by `id` takes no other filter. Leave the id empty, or all other fields.';
  const order = query['order'] || 'id';
  if (order !== 'id' && order !== 'newest') return '`order` must be id or newest.';
  if (before && order === 'id') return '`before` needs `order=newest`.';
  if (after && order === 'newest') return '`after` needs `order=id`.';
  const { limit: digits = `${searchPlantsDefault}` } = query;
  const limit = /^[0-9]{1,4}$/.test(digits) ? Number(digits) : 0;
  if (limit < 1 || limit > searchPlantsMax)
    return `\`limit\` must be a whole number from 1 to ${searchPlantsMax}.`;
  const match = matchFrom(query);
  if (typeof match === 'string') return match;
  return { id, order, limit, match, from: after || before || undefined };
}

const filters = ['name', 'tag', 'createdBy', 'since', 'until'];

function matchFrom(query: Readonly<Record<string, string>>): stored.PlantMatch | string {
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

/** A time without a zone would mean another time on another machine. */
const withZone = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;

/** Milliseconds since the epoch of `2026-11-22T07:14:49Z`; NaN for a text that is no such time. */
function zonedTime(text: string): number {
  return withZone.test(text) ? Date.parse(text) : Number.NaN;
}
