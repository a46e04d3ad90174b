import { setImmediate } from 'node:timers/promises';
import type { Values } from '../../config/flags.ts';
import { suggestion } from '../../config/suggestion.ts';
import { timeBefore, UsageError } from '../../config/values.ts';
import { limits } from '../../limits.ts';
import { addCreators, mostFirst } from '../../store/creators.ts';
import type { StoreLocation } from '../../store/location.ts';
import type { CountedByCreator, CountedMatches, PlantMatch } from '../../store/plants.ts';
import type { StoreReader } from '../../store/store.ts';
import { listedTokenName, namesOfNoToken } from '../../store/tokens.ts';
import { commandFor, openReader } from '../../stores.ts';
import { CommandError, command } from '../command.ts';
import { atInterruption } from '../terminal/interruption.ts';
import { numberText, plantsText } from '../terminal/progress.ts';
import { idsIn, typedId } from './ids.ts';
import { newestPage, pageById } from './pages.ts';
import { formOf, openPrinter, plantLine, printCreators } from './printer.ts';

export const plantsGet = command({
  positionals: ['ID...'],
  summary:
    'Print plants, each as a line of JSON, with or without --json, and on a terminal with --details. For - the ids come from standard input, one a line.',
  need: 'Use it to check what is stored under an id.',
  flags: ['store', 'details', 'json'],
  examples: [
    'plant-store plants get 1',
    'plant-store plants get 1 9223372036854775807 --details',
    'plant-store plants get -',
  ],
  async run({ values, positionals }, terminal) {
    if (positionals.length > 1 && positionals.includes(pipe))
      throw new UsageError('- takes the ids from standard input; give - alone');
    const ids = positionals[0] === pipe ? idsIn(terminal.input()) : positionals.map(typedId);
    await using store = await openReader(values.store, limits.cli.readMs);
    const hasDetails = values.details || terminal.width !== undefined;
    let asked = 0;
    let missing = 0;
    for await (const id of ids) {
      asked += 1;
      const plant = await store.getPlant(id);
      if (plant !== undefined) await terminal.print(plantLine(plant, hasDetails));
      else {
        missing += 1;
        const says = `there is no plant with the id ${id} in ${store.location}`;
        terminal.note(`plant-store: ${says}`, 'bad');
      }
    }
    if (missing > 0 && asked > 1) terminal.note(`${missing} of ${asked} ids were not found.`);
    return missing > 0 ? 1 : 0;
  },
});

/** Standard input. */
const pipe = '-';

const matchFlags = ['tag', 'name-contains', 'ignore-case', 'created-by', 'since', 'until'] as const;

export const plantsList = command({
  positionals: [],
  summary:
    'List plants in ascending order of id, or the newest first: as a table on a terminal, as lines of JSON elsewhere, or in a --format. A table of the newest has their --details.',
  need: 'Use it to look for plants, without a service.',
  flags: [
    'store',
    'newest',
    ...matchFlags,
    'after',
    'before',
    'limit',
    'details',
    'format',
    'json',
  ],
  texts: {
    format: {
      help: 'print the plants in this format; by default a table on a terminal, and NDJSON elsewhere',
      need: 'For a list as CSV.',
    },
  },
  elsewhere: (flag) => flagsOfOtherTools.get(flag),
  examples: [
    'plant-store plants list',
    'plant-store plants list --name-contains alder --ignore-case --limit 10',
    'plant-store plants list --tag Alnus --after 1000 --json',
    'plant-store plants list --tag Alnus --limit none --format csv',
    'plant-store plants list --newest --created-by my-app --since 1h',
    'plant-store plants list --newest --since yesterday --until today',
  ],
  async run({ values }, terminal) {
    const { newest, after, before, details } = values;
    const limit = values.limit === 'none' ? Number.MAX_SAFE_INTEGER - 1 : values.limit;
    if (newest && after !== undefined)
      throw new UsageError('--after goes on in order of id; --newest goes on with --before');
    if (!newest && before !== undefined)
      throw new UsageError('--before goes on in a list with --newest; add --newest');
    const form = formOf(values, terminal);
    const match = matchOf(values, Date.now());
    await using store = await openReader(values.store, limits.cli.readMs);
    await demandListedName(match, store, values.store);
    const page = newest
      ? newestPage(store, { ...match, before, limit }, terminal.showProgress)
      : pageById(store, { ...match, after, limit });
    const printer = await openPrinter(form, details || (newest && form === 'table'), terminal);
    using _ = atInterruption(terminal, (signal) => {
      printer.end();
      // The reader of a pipe may not have got all plants.
      const reached = terminal.width === undefined ? undefined : page.reached();
      const wayOut = reached === undefined ? 'list again' : `go on with ${reached}`;
      terminal.note(`plant-store: ${signal} has stopped the list before its end; ${wayOut}`, 'bad');
    });
    let isEmpty = true;
    for await (const plant of page.plants) {
      isEmpty = false;
      await printer.add(plant);
    }
    await printer.end();
    if (isEmpty) terminal.note(noneText(values));
    const next = page.next();
    if (next !== undefined)
      terminal.note(`There are more plants; go on with ${next}, or list all with --limit none.`);
    return 0;
  },
});

/** What people type who know other tools. */
const flagsOfOtherTools: ReadonlyMap<string, string> = new Map([
  ['token', 'did you mean --created-by?'],
  ['creator', 'did you mean --created-by?'],
  ['name', 'did you mean --name-contains?'],
  ['search', 'did you mean --name-contains?'],
  ['csv', '"plants list --format csv" prints CSV'],
  ['sort', '"plants list --newest" prints the newest first'],
]);

/** A list that finds nothing has searched all that its flags leave. */
function noneText({ after, before }: Values<'after' | 'before'>): string {
  if (after !== undefined) return `No plant after the id ${after} matches.`;
  return before === undefined
    ? 'No plant matches.'
    : `No plant before the position ${before} matches.`;
}

/** @throws UsageError for a time span that is empty */
function matchOf(values: Values<(typeof matchFlags)[number]>, nowMs: number): PlantMatch {
  const sinceMs = values.since && timeBefore(values.since, nowMs);
  const untilMs = values.until && timeBefore(values.until, nowMs);
  if (sinceMs !== undefined && untilMs !== undefined && sinceMs >= untilMs)
    throw new UsageError('--since must be an earlier time than --until');
  if (values['created-by'] === '') throw new UsageError('--created-by needs the name of a token');
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
async function demandListedName(
  { createdBy }: PlantMatch,
  store: StoreReader,
  location: StoreLocation,
): Promise<void> {
  if (createdBy === undefined) return;
  const ofTokens = (await store.listTokens()).map(({ name }) => listedTokenName(name));
  const names = [...namesOfNoToken, ...ofTokens];
  if (names.includes(createdBy)) return;
  const command = commandFor(location, 'token list');
  const wayOut = suggestion(createdBy, names, `${command} shows the names`);
  throw new CommandError(`${store.location} has never had a token named ${createdBy}; ${wayOut}`);
}

export const plantsCount = command({
  positionals: [],
  summary:
    'Print the number of plants in the store. With filters, print the number of plants that match. With --by-creator, print the number of each creator first.',
  need: 'Use it to compare two stores, or a store with its clients.',
  flags: ['store', ...matchFlags, 'by-creator', 'json'],
  elsewhere: (flag) => flagsOfOtherTools.get(flag),
  examples: [
    'plant-store plants count',
    'plant-store plants count --tag Alnus',
    'plant-store plants count --created-by my-app --since 24h',
    'plant-store plants count --by-creator --since 24h',
  ],
  async run({ values }, terminal) {
    const match = matchOf(values, Date.now());
    await using store = await openReader(values.store, limits.cli.readMs);
    await demandListedName(match, store, values.store);
    const isByCreator = values['by-creator'];
    const byCreator = new Map<string, number>();
    let plants = 0;
    let lookedAt = 0;
    let after: bigint | undefined;
    using _ = atInterruption(terminal, (signal) =>
      terminal.note(
        `plant-store: ${signal} has stopped the count before its end; count again`,
        'bad',
      ),
    );
    do {
      const step = { ...match, after, budgetMs: limits.cli.searchStepMs };
      const part: CountedMatches & Partial<CountedByCreator> = isByCreator
        ? await store.countByCreator(step)
        : await store.countMatches(step);
      plants += part.plants;
      lookedAt += part.lookedAt;
      addCreators(byCreator, part.byCreator ?? []);
      after = part.next;
      terminal.showProgress(after === undefined ? '' : countText(plants, lookedAt));
      // A count of a SQLite store leaves no time for signals.
      await setImmediate();
    } while (after !== undefined);
    const creators = isByCreator ? mostFirst(byCreator) : undefined;
    if (values.json) {
      const members = creators && { byCreator: Object.fromEntries(creators) };
      terminal.print(JSON.stringify({ plants, ...members }));
      return 0;
    }
    if (creators) await printCreators(creators, terminal);
    terminal.print(`${plants}`);
    const which = `${creatorText(match)}${spanText(match)}`;
    if (which !== '' && terminal.errorsWidth !== undefined)
      terminal.note(`Only plants that were created${which}.`);
    return 0;
  },
});

function creatorText({ createdBy }: PlantMatch): string {
  return createdBy === undefined ? '' : ` by ${createdBy}`;
}

/** A time of day may be of another day than the person means. */
function spanText({ sinceMs, untilMs }: PlantMatch): string {
  const at = (ms: number) => new Date(ms).toISOString();
  const since = sinceMs === undefined ? '' : ` since ${at(sinceMs)}`;
  return untilMs === undefined ? since : `${since} until ${at(untilMs)}`;
}

function countText(plants: number, lookedAt: number): string {
  if (plants === lookedAt) return `${plantsText(plants)} counted`;
  return `${numberText(plants)} of ${plantsText(lookedAt)} match so far`;
}
