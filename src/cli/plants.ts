import { suggestion } from '../config/suggestion.ts';
import { UsageError } from '../config/values.ts';
import { int64FromDigits } from '../contract/int64.ts';
import { newPlantLine } from '../contract/plant.ts';
import { limits } from '../limits.ts';
import type { StoredPlant } from '../store/plants.ts';
import type { StoreReader } from '../store/store.ts';
import { listedTokenName, namesOfNoToken } from '../store/tokens.ts';
import { openReader } from '../stores.ts';
import { CommandError, command, type Terminal } from './command.ts';
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

export const plantsList = command({
  positionals: [],
  summary:
    'List plants in ascending order of id: as a table on a terminal, as lines of JSON elsewhere.',
  need: 'Use it to look for plants, without a service.',
  flags: [
    'store',
    'tag',
    'name-contains',
    'created-by',
    'since',
    'after',
    'limit',
    'details',
    'json',
  ],
  examples: [
    'plant-store plants list',
    'plant-store plants list --name-contains alder --limit 10',
    'plant-store plants list --tag Alnus --after 1000 --json',
    'plant-store plants list --created-by my-app --since 1h --details',
  ],
  async run({ values }, terminal) {
    await using store = await openReader(values.store, limits.cli.readMs);
    const {
      tag,
      'name-contains': nameContains,
      'created-by': createdBy,
      since,
      after,
      limit,
      details,
      json,
    } = values;
    if (createdBy !== undefined) await demandListedName(createdBy, store);
    const sinceMs = since === undefined ? undefined : Date.now() - since;
    // One more tells whether there is a next page.
    const page = firstOf(
      limit,
      store.listPlants({ tag, nameContains, createdBy, sinceMs, after, limit: limit + 1 }),
    );
    if (json || terminal.width === undefined) await printLines(page.plants, details, terminal);
    else
      await (await import('./terminal/table.ts')).printTable(
        details ? [...plantColumns, ...detailColumns] : plantColumns,
        page.plants,
        terminal,
      );
    const goOnAfter = page.goOnAfter();
    if (goOnAfter !== undefined)
      terminal.note(`There are more plants; go on with --after ${goOnAfter}, or raise --limit.`);
    return 0;
  },
});

/** A mistyped name would look like a token without plants. @throws CommandError */
async function demandListedName(createdBy: string, store: StoreReader): Promise<void> {
  const ofTokens = (await store.listTokens()).map(({ name }) => listedTokenName(name));
  const names = [...namesOfNoToken, ...ofTokens];
  if (names.includes(createdBy)) return;
  const wayOut = suggestion(createdBy, names, '"plant-store token list" shows the names');
  throw new CommandError(`${store.location} has never had a token named ${createdBy}; ${wayOut}`);
}

interface Page {
  readonly plants: AsyncIterable<StoredPlant>;
  /** The last id, if there is a next page. Call it after reading `plants`. */
  goOnAfter(): bigint | undefined;
}

function firstOf(limit: number, plants: AsyncIterable<StoredPlant>): Page {
  let count = 0;
  let last: bigint | undefined;
  async function* page(): AsyncGenerator<StoredPlant> {
    for await (const plant of plants) {
      count += 1;
      if (count > limit) return;
      last = plant.id;
      yield plant;
    }
  }
  return { plants: page(), goOnAfter: () => (count > limit ? last : undefined) };
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
  summary: 'Print the number of plants in the store.',
  need: 'Use it to compare two stores, or a store with its clients.',
  flags: ['store', 'json'],
  examples: ['plant-store plants count'],
  async run({ values }, terminal) {
    await using store = await openReader(values.store, limits.cli.readMs);
    const plants = await store.countPlants();
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
