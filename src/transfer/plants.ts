import { command, type Terminal } from '../cli/command.ts';
import type { Values } from '../cli/flags/flags.ts';
import { timeBefore, UsageError } from '../cli/flags/values.ts';
import { figureText } from '../cli/terminal/figures.ts';
import { atInterruption } from '../cli/terminal/interruption.ts';
import type { Column, Table } from '../cli/terminal/table.ts';
import { int64FromDigits } from '../contract/int64.ts';
import { limits } from '../limits.ts';
import { engineOf } from '../store/engines.ts';
import type { PlantMatch, StoredPlant } from '../store/plants.ts';
import { detailsOf } from './format.ts';
import { type FormatName, formats, pipe, writtenFormat } from './formats.ts';

export const plantsGet = command({
  positionals: ['ID...'],
  summary: 'Print plants, each as a line of JSON with the time and the token of its creation.',
  need: 'Use it to check what is stored under an id.',
  flags: ['store', 'json'],
  examples: ['plant-store plants get 1 9223372036854775807'],
  async run({ values, positionals }, terminal) {
    const ids = positionals.map(typedId);
    await using store = await engineOf(values.store).openReader(limits.cli.readMs);
    let missing = 0;
    for (const id of ids) {
      const plant = await store.getPlant(id);
      if (plant !== undefined) {
        await terminal.write(formats.ndjson.write(plant, detailsOf(plant)));
        continue;
      }
      missing += 1;
      const says = `there is no plant with the id ${id} in ${store.url}`;
      terminal.note(`plant-store: ${says}`, 'bad');
    }
    if (missing > 0 && ids.length > 1)
      terminal.note(`${missing} of ${ids.length} ids were not found.`);
    return missing > 0 ? 1 : 0;
  },
});

function typedId(digits: string): bigint {
  const id = int64FromDigits(digits);
  if (id !== undefined) return id;
  const [least, most] = ['-9223372036854775808', '9223372036854775807'];
  throw new UsageError(
    `ID must be an integer from ${least} to ${most}; it is ${JSON.stringify(digits)}`,
  );
}

const matchFlags = ['tag', 'name-contains', 'created-by', 'since', 'until'] as const;

export const plantsList = command({
  positionals: [],
  summary: 'List plants in order of id or the newest first, as a table, NDJSON or CSV.',
  need: 'Use it to look for plants, also while no service runs.',
  flags: ['store', 'newest', ...matchFlags, 'limit', 'format', 'json'],
  examples: [
    'plant-store plants list --name-contains alder --limit 10',
    'plant-store plants list --tag Alnus --limit none --format csv',
    'plant-store plants list --newest --created-by my-app --since 1h',
  ],
  async run({ values }, terminal) {
    const limit = values.limit === 'none' ? Number.MAX_SAFE_INTEGER - 1 : values.limit;
    const match = matchOf(values, Date.now());
    const printer = await openPrinter(values, terminal);
    await using store = await engineOf(values.store).openReader(limits.cli.readMs);
    // One more tells whether there are more.
    const plants = store.listPlants({ ...match, limit: limit + 1 }, values.newest);
    using _ = atInterruption(terminal, 'the list', () => void printer.end());
    let count = 0;
    for await (const plant of plants) {
      count += 1;
      if (count > limit) break;
      await printer.add(plant);
    }
    await printer.end();
    if (count === 0) terminal.note('No plant matches.');
    if (count > limit) terminal.note('There are more plants; --limit none lists all.');
    return 0;
  },
});

async function openPrinter(
  { format, json }: Values<'format' | 'json'>,
  terminal: Terminal,
): Promise<Table<StoredPlant>> {
  if (json && format === 'csv')
    throw new UsageError('--json prints NDJSON, and --format csv prints CSV; give one of the two');
  if (format === undefined && !json && terminal.width !== undefined) {
    const { openTable } = await import('../cli/terminal/table.ts');
    return openTable(plantColumns, terminal);
  }
  return filePrinter(writtenFormat(pipe, format).format, terminal);
}

function filePrinter(format: FormatName, { write }: Terminal): Table<StoredPlant> {
  // A search that fails prints no head.
  let head = formats[format].head(true);
  const print = (text: string) => {
    const more = head + text;
    head = '';
    return more === '' ? undefined : write(more);
  };
  return {
    add: (plant) => print(formats[format].write(plant, detailsOf(plant))),
    end: () => print(''),
  };
}

const plantColumns: readonly Column<StoredPlant>[] = [
  { head: 'ID', kind: 'number', cell: ({ id }) => `${id}` },
  { head: 'NAME', cell: ({ name }) => name || '""' },
  // An empty tag and no tag differ.
  { head: 'TAG', cell: ({ tag }) => (tag === '' ? '""' : (tag ?? '')) },
  { head: 'CREATED', cell: (plant) => detailsOf(plant).createdAt },
  { head: 'BY', cell: ({ createdBy }) => createdBy },
];

function matchOf(values: Values<(typeof matchFlags)[number]>, nowMs: number): PlantMatch {
  const sinceMs = values.since && timeBefore(values.since, nowMs);
  const untilMs = values.until && timeBefore(values.until, nowMs);
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs >= untilMs)
    throw new UsageError('--since must be an earlier time than --until');
  return {
    tag: values.tag,
    nameContains: values['name-contains'],
    createdBy: values['created-by'],
    sinceMs,
    untilMs,
  };
}

export const plantsCount = command({
  positionals: [],
  summary: 'Print the number of plants in the store, or of the plants that match the filters.',
  need: 'Use it to compare two stores, or a store with its clients.',
  flags: ['store', ...matchFlags, 'json'],
  examples: [
    'plant-store plants count',
    'plant-store plants count --created-by my-app --since 24h',
  ],
  async run({ values }, terminal) {
    const match = matchOf(values, Date.now());
    await using store = await engineOf(values.store).openReader(limits.cli.readMs);
    using _ = atInterruption(terminal, 'the count');
    terminal.showProgress('counting');
    const plants = await store.countPlants(match);
    terminal.showProgress('');
    terminal.print(values.json ? JSON.stringify({ plants }) : figureText(plants, terminal));
    return 0;
  },
});
