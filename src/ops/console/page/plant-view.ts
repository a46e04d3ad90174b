import { int64Min } from '../../../contract/int64.ts';
import { zonedTime } from '../../../contract/zoned-time.ts';

/** What a page of plants shows. A text is empty where it asks for nothing. */
export interface PlantView {
  readonly order: 'newest' | 'id';
  /** A part of the name. */
  readonly name: string;
  /** The whole tag. */
  readonly tag: string;
  readonly ignoreCase: '' | 'true';
  /** A name as plants have it: a token, `import` or `environment`. */
  readonly createdBy: string;
  /** ISO 8601, as is `until`. */
  readonly since: string;
  readonly until: string;
  /** Where the page begins: the `next` of the page before. */
  readonly at: string;
}

const allPlants: PlantView = {
  order: 'newest',
  name: '',
  tag: '',
  ignoreCase: '',
  createdBy: '',
  since: '',
  until: '',
  at: '',
};

const positionOf = { newest: 'before', id: 'after' } as const;

/** The view that an address asks for. */
export function viewFrom(address: URLSearchParams): PlantView {
  const text = (name: string) => address.get(name) ?? '';
  const order = text('order') === 'id' ? 'id' : 'newest';
  return {
    order,
    name: text('name'),
    tag: text('tag'),
    ignoreCase: text('ignoreCase') === 'true' ? 'true' : '',
    createdBy: text('createdBy'),
    since: text('since'),
    until: text('until'),
    at: text(positionOf[order]),
  };
}

/** The path of a view, below `#`. */
export function pathOf({ order, ...view }: PlantView): string {
  const query = queryOf({ order, ...view });
  if (order === 'newest') query.delete('order');
  return query.size === 0 ? '/plants' : `/plants?${query}`;
}

/** The query of the API for a view, without what the view leaves open. */
export function queryOf({ at, ...view }: PlantView): URLSearchParams {
  const asked = Object.entries({ ...view, [positionOf[view.order]]: at });
  return new URLSearchParams(asked.filter(([, value]) => value !== ''));
}

/** A file with all plants of a view, and not of one page of it. */
export function fileOf(view: PlantView, format: 'ndjson' | 'csv'): string {
  return `/api/plants/export?format=${format}&details=true&${queryOf({ ...view, at: '' })}`;
}

export interface TimeFault {
  readonly field: 'since' | 'until';
  readonly says: string;
}

/** What is wrong with the times of a view. The service refuses such a search. */
export function timeFaultOf({ since, until }: PlantView): TimeFault | undefined {
  if (isNoTime(since)) return noTime('since', '“Since”', since);
  if (isNoTime(until)) return noTime('until', '“Until”', until);
  if (zonedTime(since) >= zonedTime(until))
    return { field: 'until', says: '“Since” must be before “Until”.' };
  return undefined;
}

function isNoTime(text: string): boolean {
  return text !== '' && Number.isNaN(zonedTime(text));
}

function noTime(field: TimeFault['field'], label: string, text: string): TimeFault {
  const says = `The address has “${text}” for ${label}, which is not a time with its zone, such as 2026-11-22T07:14:49Z. Enter a time, or press “Any time”.`;
  return { field, says };
}

export function isFiltered({ order: _, at: __, ...filter }: PlantView): boolean {
  return Object.values(filter).some((value) => value !== '');
}

/** All views of the filter's plants begin at the first page. */
export function withoutFilter({ order }: PlantView): PlantView {
  return { ...allPlants, order };
}

/** A link to the plants from an id on. */
export function plantsFrom(id: bigint): string {
  const at = id === int64Min ? '' : `${id - 1n}`;
  return `#${pathOf({ ...allPlants, order: 'id', at })}`;
}

/** A link to all creates of a token, by its name in lists of plants. */
export function plantsOfToken(createdBy: string): string {
  return `#${pathOf({ ...allPlants, createdBy })}`;
}
