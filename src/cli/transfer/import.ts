import { limits } from '../../limits.ts';
import { openExistingStore } from '../../stores.ts';
import { FileError } from '../../transfer/format.ts';
import { formats } from '../../transfer/formats.ts';
import { type ImportCounts, importPlants } from '../../transfer/import-plants.ts';
import { openSource } from '../../transfer/import-source.ts';
import { command } from '../command.ts';
import { atInterruption } from '../terminal/interruption.ts';
import { startProgress } from '../terminal/progress.ts';
import { fileFormat, pipe } from './file-format.ts';
import { fileError, openRefusedLines } from './refused-lines.ts';
import { printTotals } from './totals.ts';

const flags = [
  'store',
  'accept-lost-commits',
  'format',
  'refused',
  'stop-at-refusal',
  'body-limit',
  'json',
] as const;

export const importCommand = command({
  positionals: ['FILE'],
  summary: 'Create the plants of a file, or of standard input (-). Services may run on the store.',
  need: 'Use it for many plants at once, from other programs or stores.',
  flags,
  examples: [
    'plant-store import plants.ndjson',
    'plant-store import plants.csv.gz --stop-at-refusal',
    'plant-store import - --format csv',
  ],
  async run({ values, positionals: [file = ''] }, terminal) {
    const { format, compression } = fileFormat(file, values.format);
    const refused = openRefusedLines(file, {
      ...{ command: 'import', path: values.refused, stores: [values.store] },
    });
    await using store = await openExistingStore(
      values.store,
      limits.cli.lockMs,
      values['accept-lost-commits'],
    );
    using source = openSource(file === pipe ? terminal.input() : file, compression);
    const counts: ImportCounts = { created: 0, same: 0, refused: new Map() };
    const progress = startProgress(terminal, () => performance.now());
    const finish = (until: '' | ' until then') => {
      terminal.note(`Read ${progress.finish(seen(counts))}.`);
      const { created, same } = counts;
      const totals = { created, same, refused: refusedCount(counts) };
      printTotals(totals, counts.refused, values.json, terminal);
      const path = refused.publish();
      if (path !== undefined) terminal.note(`What was refused${until}, and why, is in ${path}.`);
    };
    using _ = atInterruption(terminal, (signal) => {
      finish(' until then');
      terminal.note(stoppedText(signal), 'bad');
    });
    try {
      const recordBytesMax = values['body-limit'] + limits.transfer.idBytesMax;
      await importPlants(source.chunks, formats[format].openReader(recordBytesMax), counts, {
        store,
        stopAtRefusal: values['stop-at-refusal'],
        onRefused: refused.add,
        onProgress: () =>
          progress.show({
            plants: seen(counts),
            share: source.bytes && source.bytesRead() / source.bytes,
          }),
        onWait: (why) => terminal.note(`The store takes no plants (${why}); retrying.`),
      });
      if (counts.refused.size === 0) refused.removeEarlier();
    } catch (error) {
      throw error instanceof FileError
        ? fileError(file === pipe ? 'standard input' : file, error)
        : error;
    } finally {
      finish('');
    }
    return counts.refused.size === 0 ? 0 : 1;
  },
});

function stoppedText(signal: string): string {
  return `plant-store: ${signal} has stopped the import before its end; run it again to go on: plants that are stored count as same`;
}

function refusedCount({ refused }: ImportCounts): number {
  return refused.values().reduce((sum, count) => sum + count, 0);
}

function seen(counts: ImportCounts): number {
  return counts.created + counts.same + refusedCount(counts);
}
