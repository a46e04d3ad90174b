import type { Values } from '../../config/flags.ts';
import { UsageError } from '../../config/values.ts';
import { limits } from '../../limits.ts';
import { NoStoreError } from '../../store/errors.ts';
import type { PlantWriter } from '../../store/plants.ts';
import { engineOf, openExistingStore, openReader } from '../../stores.ts';
import { FileError } from '../../transfer/format.ts';
import {
  type ImportCounts,
  type ImportOptions,
  importPlants,
} from '../../transfer/import-plants.ts';
import { openSource } from '../../transfer/import-source.ts';
import { command, type Terminal } from '../command.ts';
import { atInterruption } from '../terminal/interruption.ts';
import { plantsText, tookText } from '../terminal/progress.ts';
import { openDryStore } from './dry-store.ts';
import { fileFormat, openPlantReader, pipe } from './file-format.ts';
import { demandInput, fileError, openRefusedLines } from './refused-lines.ts';
import { printTotals } from './totals.ts';

const flags = [
  'store',
  'accept-lost-commits',
  'format',
  'column',
  'refused',
  'dry-run',
  'body-limit',
  'json',
] as const;

type Choices = Values<(typeof flags)[number]>;

export const importCommand = command({
  positionals: ['FILE'],
  summary: 'Create the plants of a file, or of standard input (-). Services may run on the store.',
  need: 'Use it for many plants at once, from other programs or stores.',
  flags,
  examples: [
    'plant-store import plants.ndjson',
    'plant-store import plants.csv.gz',
    'plant-store import - --format csv',
    'plant-store import garden.csv --dry-run --column id=Nr --column name=Title',
  ],
  async run({ values, positionals: [file = ''] }, terminal) {
    const { format, compression } = fileFormat(file, values.format);
    const reader = openPlantReader(format, values, terminal);
    await using target = await (values['dry-run'] ? openDryTarget : openTarget)(
      file,
      values,
      terminal,
    );
    using source = openSource(file === pipe ? terminal.input() : file, compression);
    const counts: ImportCounts = { created: 0, same: 0, refused: new Map() };
    const startedMs = performance.now();
    const finish = (until: '' | ' until then') => {
      terminal.showProgress('');
      terminal.note(`Read ${tookText(seen(counts), startedMs)}.`);
      const { created, same } = counts;
      const isDryForPeople = values['dry-run'] && !values.json;
      const totals = {
        [isDryForPeople ? 'would be created' : 'created']: created,
        ...{ same, refused: refusedCount(counts) },
      };
      printTotals(totals, counts.refused, reader.leftOut(), values.json, terminal);
      target.finish(until);
    };
    using _ = atInterruption(terminal, (signal) => {
      finish(' until then');
      terminal.note(`plant-store: ${signal} has stopped ${target.howToGoOn}`, 'bad');
    });
    try {
      await importPlants(source.chunks, reader, counts, {
        store: target.store,
        onRefused: target.onRefused,
        onProgress: () =>
          terminal.showProgress(
            `import: ${plantsText(seen(counts))}`,
            source.bytes === undefined
              ? undefined
              : { done: source.bytesRead(), total: source.bytes, unit: 'bytes' },
          ),
        onWait: (why) => terminal.note(`The store takes no plants (${why}); retrying.`),
      });
      if (counts.refused.size === 0) target.onNoneRefused();
    } catch (error) {
      // Of a file without a plant, the error says all.
      if (values.json || seen(counts) > 0) finish('');
      throw error instanceof FileError
        ? fileError(file === pipe ? 'standard input' : file, error)
        : error;
    }
    finish('');
    return counts.refused.size === 0 ? 0 : 1;
  },
});

/** Where the plants of a file go, and its refused lines. */
interface Target extends Pick<ImportOptions, 'onRefused'>, AsyncDisposable {
  readonly store: Pick<PlantWriter, 'createPlants'>;
  onNoneRefused(): void;
  /** Says where the refused lines are. */
  finish(until: string): void;
  /** The rest of a sentence that begins with a signal. */
  readonly howToGoOn: string;
}

async function openTarget(file: string, values: Choices, { note }: Terminal): Promise<Target> {
  const refused = openRefusedLines(file, values.refused, values.store);
  const store = await openExistingStore(
    values.store,
    limits.cli.lockMs,
    values['accept-lost-commits'],
  );
  return {
    store,
    onRefused: refused.add,
    onNoneRefused: refused.removeEarlier,
    finish(until) {
      const path = refused.publish();
      if (path !== undefined) note(`What was refused${until}, and why, is in ${path}.`);
    },
    howToGoOn:
      'the import before its end; run it again to go on: plants that are stored count as same',
    [Symbol.asyncDispose]: () => store.close(),
  };
}

/** Compares the plants with the store, and shows the refused lines. */
async function openDryTarget(
  file: string,
  { store: location, refused, json }: Choices,
  terminal: Terminal,
): Promise<Target> {
  if (refused !== undefined)
    throw new UsageError('--dry-run writes no file, so it does not take --refused');
  demandInput(file);
  const reader = await openReader(location, limits.cli.readMs).catch((error) => {
    if (!(error instanceof NoStoreError)) throw error;
    terminal.note(`There is no store at ${engineOf(location).name} yet: no plant counts as same.`);
    return undefined;
  });
  const store = openDryStore(reader);
  let refusedLines = 0;
  return {
    store,
    async onRefused(records) {
      for (const { record, code, message } of records) {
        refusedLines += 1;
        if (json) await terminal.print(JSON.stringify({ line: record.line, error: code, message }));
        else if (refusedLines <= limits.cli.dryRunLinesShown)
          terminal.note(`Line ${record.line} would be refused: ${code} ${message}`);
      }
    },
    onNoneRefused: () => undefined,
    finish() {
      const hidden = json ? 0 : refusedLines - limits.cli.dryRunLinesShown;
      if (hidden > 0) terminal.note(`${hidden} more lines would be refused; --json shows all.`);
      terminal.note('This was a dry run: nothing has been written.');
    },
    howToGoOn: 'the dry run before its end; nothing has been written',
    async [Symbol.asyncDispose]() {
      store[Symbol.dispose]();
      await reader?.close();
    },
  };
}

function refusedCount({ refused }: ImportCounts): number {
  return refused.values().reduce((sum, count) => sum + count, 0);
}

function seen(counts: ImportCounts): number {
  return counts.created + counts.same + refusedCount(counts);
}
