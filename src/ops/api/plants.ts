import type { Handler } from 'hono';
import { int64FromDigits } from '../../contract/int64.ts';
import { limits } from '../../limits.ts';
import type * as stored from '../../store/plants.ts';
import type { Plant, PlantPage, StoredPlant } from '../contract.ts';
import type { ReaderThread } from '../reader.ts';
import { isoTime, refuse } from './json.ts';

/** One step of a search, as `plants list` does it, for at most `limits.ops.searchMs`. */
export function searchPlants(reader: ReaderThread): Handler {
  return async (context) => {
    const filter = parseFilter(context.req.query());
    if (typeof filter === 'string') return refuse(context, 'queryWrong', filter);
    const { plants, next } = await reader.read(
      'searchPlants',
      [{ ...filter, budgetMs: limits.ops.searchMs }],
      context.req.raw.signal,
    );
    return context.json({
      plants: plants.map(plantReply),
      next: next === undefined ? null : `${next}`,
    } satisfies PlantPage);
  };
}

export function showPlant(reader: ReaderThread): Handler {
  return async (context) => {
    const id = int64FromDigits(context.req.param('id') ?? '');
    const plant = id !== undefined && (await reader.read('getPlant', [id], context.req.raw.signal));
    if (!plant) return refuse(context, 'recordUnknown', 'There is no plant with this id.');
    return context.json({
      ...plantReply(plant),
      createdAt: isoTime(plant.createdAtMs),
      createdBy: plant.createdBy,
    } satisfies StoredPlant);
  };
}

function plantReply({ id, name, tag }: stored.StoredPlant): Plant {
  return { id: `${id}`, name, tag };
}

/** An empty field counts as absent. @returns a message if the query is wrong */
function parseFilter(query: Readonly<Record<string, string>>): stored.PlantFilter | string {
  const { searchTextCharsMax, searchPlantsMax, searchPlantsDefault } = limits.ops;
  const { name, tag, after, limit = `${searchPlantsDefault}` } = query;
  if (Math.max(name?.length ?? 0, tag?.length ?? 0) > searchTextCharsMax)
    return `\`name\` and \`tag\` have at most ${searchTextCharsMax} characters each.`;
  const afterId = after ? int64FromDigits(after) : undefined;
  if (after && afterId === undefined) return '`after` must be an id.';
  const plants = /^[0-9]{1,4}$/.test(limit) ? Number(limit) : 0;
  if (plants < 1 || plants > searchPlantsMax)
    return `\`limit\` must be a whole number from 1 to ${searchPlantsMax}.`;
  return { nameContains: name || undefined, tag: tag || undefined, after: afterId, limit: plants };
}
