import { Hono } from 'hono';
import { int64FromDigits } from '../../contract/int64.ts';
import { limits } from '../../limits.ts';
import type { StoredPlant } from '../../store/store.ts';
import type { ReaderThread } from '../reader.ts';
import { isoTime, refuse } from './answers.ts';

/** Looks for plants, as `plants list` and `plants get` do. */
export function plantRoutes(reader: ReaderThread): Hono {
  const app = new Hono();

  app.get('/plants', async (context) => {
    const query = parseQuery(context.req.query());
    if (typeof query === 'string') return refuse(context, 'queryWrong', query);
    const { plants, next } = await reader.read(
      'searchPlants',
      [{ ...query, budgetMs: limits.ops.searchMs }],
      context.req.raw.signal,
    );
    return context.json({
      plants: plants.map(shown),
      next: next === undefined ? null : `${next}`,
      isEnd: next === undefined,
    });
  });

  app.get('/plants/:id', async (context) => {
    const id = int64FromDigits(context.req.param('id'));
    const plant =
      id === undefined ? undefined : await reader.read('getPlant', [id], context.req.raw.signal);
    if (plant === undefined)
      return refuse(context, 'recordUnknown', 'There is no plant with this id.');
    return context.json({
      ...shown(plant),
      createdAt: isoTime(plant.createdAtMs),
      createdBy: plant.createdBy,
    });
  });

  return app;
}

function shown({ id, name, tag }: StoredPlant) {
  return { id: `${id}`, name, tag };
}

/** A field that was left empty is none. @returns what is wrong, if it is a string */
function parseQuery({
  name,
  tag,
  after,
  limit = `${limits.ops.searchPlantsDefault}`,
}: Readonly<Record<string, string>>) {
  for (const text of [name, tag]) {
    if (text && text.length > limits.ops.searchTextCharsMax)
      return `A name or tag to look for has at most ${limits.ops.searchTextCharsMax} characters.`;
  }
  const afterId = after ? int64FromDigits(after) : undefined;
  if (after && afterId === undefined) return '`after` must be an id.';
  const most = /^[0-9]{1,4}$/.test(limit) ? Number(limit) : 0;
  if (most < 1 || most > limits.ops.searchPlantsMax)
    return `\`limit\` must be a whole number from 1 to ${limits.ops.searchPlantsMax}.`;
  return { nameContains: name || undefined, tag: tag || undefined, after: afterId, limit: most };
}
