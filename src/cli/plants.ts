import { setImmediate } from 'node:timers/promises';
import type { Values } from '../config/flags.ts';
import { suggestion } from '../config/suggestion.ts';
import { timeBefore, UsageError } from '../config/values.ts';
import { int64FromDigits } from '../contract/int64.ts';
import { newPlantLine } from '../contract/plant.ts';
import { limits } from '../limits.ts';
import type { NewestPlants, PlantFilter, PlantMatch, StoredPlant } from '../store/plants.ts';
import type { StoreReader } from '../store/store.ts';
import { listedTokenName, namesOfNoToken } from '../store/tokens.ts';
import { openReader } from '../stores.ts';
import { CommandError, command, type Terminal } from './command.ts';
import { atInterruption } from './terminal/interruption.ts';
import type { Column } from './terminal/table.ts';

export const plantsGet = command({
  positionals: ['ID'],
  summary: 'Print one plant as a line of JSON, with or without --json.',
  need: 'Use it to check what is stored under an id.',
  flags: ['store', 'details', 'json'],
  examples: ['plant-store plants get 1', 'plant-store plants get 9223372036854775807 --details'],
  async run({ values, positionals: [digits = ''] }, terminal) {
    const id = int64FromDigits(digits);
    if (id === undefined) {
      throw new UsageError(
        `ID must be an integer from -9223372036854775808 to 9223372036854775807; it is ${JSON.stringify(digits)}`,
      );
    }
    await using store = await openReader(values.store, limits.cli.readMs);
    const plant = await store.getPlant(id);
    if (plant === undefined)
      throw new CommandError(`there is no plant with the id ${id} in ${store.location}`);
    terminal.print(plantLine(plant, values.details));
    return 0;
  },
});

const matchFlags = ['tag', 'name-contains', 'ignore-case', 'created-by', 'since', 'until'] as const;

export const plantsList = command({
  positionals: [],
  summary:
    'List plants in ascending order of id, or the newest first: as a table on a terminal, as lines of JSON elsewhere.',
  need: 'Use it to look for plants, without a service.',
  flags: ['store', 'newest', ...matchFlags, 'after', 'before', 'limit', 'details', 'json'],
  examples: [
    'plant-store plants list',
    'plant-store plants list --name-contains alder --ignore-case --limit 10',
    'plant-store plants list --tag Alnus --after 1000 --json',
    'plant-store plants list --newest --created-by my-app --since 1h --details',
    'plant-store plants list --newest --since 2026-11-23T22:00 --until 2026-11-24T06:00',
  ],
  async run({ values }, terminal) {
    const { newest, after, before, limit, details, json } = values;
    if (newest && after !== undefined)
      throw new UsageError('--after goes on in order of id; --newest goes on with --before');
    if (!newest && before !== undefined)
      throw new UsageError('--before goes on in a list with --newest; add --newest');
    const match = matchOf(values, Date.now());
    await using store = await openReader(values.store, limits.cli.readMs);
    await demandListedName(match, store);
    const page = newest
      ? newestPage(store, { ...match, before, limit }, terminal.showProgress)
      : pageById(store, { ...match, after, limit });
    if (json || terminal.width === undefined) await printLines(page.plants, details, terminal);
    else
      await (await import('./terminal/table.ts')).printTable(
        details ? [...plantColumns, ...detailColumns] : plantColumns,
        page.plants,
        terminal,
      );
    const next = page.next();
    if (next !== undefined)
      terminal.note(`There are more plants; go on with ${next}, or raise --limit.`);
    return 0;
  },
});

/** @throws UsageError for a time span that is empty */
function matchOf(values: Values<(typeof matchFlags)[number]>, nowMs: number): PlantMatch {
  const sinceMs = values.since && timeBefore(values.since, nowMs);
  const untilMs = values.until && timeBefore(values.until, nowMs);
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs >= untilMs)
    throw new UsageError('--since must be an earlier time than --until');
  return {
    tag: values.tag,
    nameContains: values['name-contains'],
    ignoresCase: values['ignore-case'],
    createdBy: values['created-by'],
    sinceMs,
    untilMs,
  };
}

/** A mistyped name would look like a token without plants. @throws CommandError */
async function demandListedName({ createdBy }: PlantMatch, store: StoreReader): Promise<void> {
  if (createdBy === undefined) return;
  const ofTokens = (await store.listTokens()).map(({ name }) => listedTokenName(name));
  const names = [...namesOfNoToken, ...ofTokens];
  if (names.includes(createdBy)) return;
  const wayOut = suggestion(createdBy, names, '"plant-store token list" shows the names');
  throw new CommandError(`${store.location} has never had a token named ${createdBy}; ${wayOut}`);
}

interface Page {
  readonly plants: AsyncIterable<StoredPlant>;
  /** The flag for the next page, if there is one. Call it after reading `plants`. */
  next(): string | undefined;
}

function pageById(store: StoreReader, { limit, ...filter }: PlantFilter): Page {
  let count = 0;
  let last: bigint | undefined;
  async function* page(): AsyncGenerator<StoredPlant> {
    // One more tells whether there is a next page.
    for await (const plant of store.listPlants({ ...filter, limit: limit + 1 })) {
      count += 1;
      if (count > limit) return;
      last = plant.id;
      yield plant;
    }
  }
  return { plants: page(), next: () => (count > limit ? `--after ${last}` : undefined) };
}

interface NewestFilter extends PlantMatch {
  readonly before: string | undefined;
  readonly limit: number;
}

function newestPage(
  store: StoreReader,
  { before: first, limit, ...filter }: NewestFilter,
  showProgress: Terminal['showProgress'],
): Page {
  let before = first;
  async function* page(): AsyncGenerator<StoredPlant> {
    for (let left = limit; left > 0; ) {
      const found = await store.newestPlants({
        ...filter,
        before,
        limit: Math.min(left, limits.cli.newestPlantsMax),
        budgetMs: limits.cli.searchStepMs,
      });
      showProgress('');
      if (found === undefined)
        throw new CommandError(
          `${store.location} has no position ${before}; take a position that a list of this store names`,
        );
      yield* found.plants;
      left -= found.plants.length;
      before = found.next;
      if (before === undefined) return;
      if (left > 0) showProgress(progressText(found));
    }
  }
  return { plants: page(), next: () => before && `--before ${before}` };
}

function progressText({ reachedAtMs }: NewestPlants): string {
  return reachedAtMs === undefined
    ? 'searching among plants that are not in order of time'
    : `searched back to ${new Date(reachedAtMs).toISOString().replace(/\.\d+Z$/, 'Z')}`;
}

async function printLines(
  plants: AsyncIterable<StoredPlant>,
  details: boolean,
  { print }: Terminal,
): Promise<void> {
  for await (const plant of plants) await print(plantLine(plant, details));
}

const plantColumns: readonly Column<StoredPlant>[] = [
  { head: 'ID', kind: 'number', cell: ({ id }) => `${id}` },
  { head: 'NAME', kind: 'text', cell: ({ name }) => name || '""' },
  // An empty tag and no tag differ.
  { head: 'TAG', kind: 'text', cell: ({ tag }) => (tag === '' ? '""' : (tag ?? '')) },
];

const detailColumns: readonly Column<StoredPlant>[] = [
  { head: 'CREATED', kind: 'time', cell: ({ createdAtMs }) => new Date(createdAtMs).toISOString() },
  { head: 'BY', kind: 'text', cell: ({ createdBy }) => createdBy },
];

export const plantsCount = command({
  positionals: [],
  summary:
    'Print the number of plants in the store. With filters, print the number of plants that match.',
  need: 'Use it to compare two stores, or a store with its clients.',
  flags: ['store', ...matchFlags, 'json'],
  examples: [
    'plant-store plants count',
    'plant-store plants count --tag Alnus',
    'plant-store plants count --created-by my-app --since 24h',
  ],
  async run({ values }, terminal) {
    const match = matchOf(values, Date.now());
    await using store = await openReader(values.store, limits.cli.readMs);
    await demandListedName(match, store);
    let plants = 0;
    let after: bigint | undefined;
    using _ = atInterruption(terminal, (signal) =>
      terminal.note(
        `plant-store: ${signal} has stopped the count before its end; count again`,
        'bad',
      ),
    );
    do {
      const part = await store.countMatches({ ...match, after, budgetMs: limits.cli.searchStepMs });
      plants += part.plants;
      after = part.next;
      terminal.showProgress(after === undefined ? '' : `counted ${plants} up to id ${after}`);
      // A count of a SQLite store leaves no time for signals.
      await setImmediate();
    } while (after !== undefined);
    terminal.print(values.json ? JSON.stringify({ plants }) : `${plants}`);
    return 0;
  },
});

function plantLine(plant: StoredPlant, details: boolean): string {
  if (!details) return newPlantLine(plant);
  return newPlantLine(plant, {
    createdAt: new Date(plant.createdAtMs).toISOString(),
    createdBy: plant.createdBy,
  });
}
