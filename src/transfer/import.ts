import { CommandError, command } from '../cli/command.ts';
import { printFigures } from '../cli/terminal/figures.ts';
import { atInterruption } from '../cli/terminal/interruption.ts';
import { tookText } from '../cli/terminal/progress.ts';
import { limits } from '../limits.ts';
import { plantsText } from '../quantity-text.ts';
import { engineOf } from '../store/engines.ts';
import { FileError } from './format.ts';
import { openPlantReader, pipe, readFormat } from './formats.ts';
import { type ImportCounts, importPlants } from './import-plants.ts';
import { openSource } from './import-source.ts';
import { openRefusedLines } from './refused-lines.ts';

export const importCommand = command({
  positionals: ['FILE'],
  summary: 'Create the plants of a file, or of standard input (-). Services may run on the store.',
  need: 'Use it for many plants at once, from other programs or stores.',
  flags: ['store', 'accept-lost-commits', 'format', 'column', 'body-limit', 'json'],
  examples: [
    'plant-store import plants.ndjson',
    'plant-store import plants.csv.gz',
    'plant-store import - --format csv',
    'plant-store import garden.csv --column id=Nr --column name=Title',
  ],
  async run({ values, positionals: [file = ''] }, terminal) {
    const { format, compression } = readFormat(file, values.format);
    const reader = openPlantReader(format, values, terminal);
    const refused = openRefusedLines(file);
    await using store = await engineOf(values.store).open({
      callMs: limits.cli.lockMs,
      acceptsLostCommits: values['accept-lost-commits'],
    });
    for (const says of await store.testWrite()) terminal.note(says, 'warning');
    using source = openSource(file === pipe ? terminal.input() : file, compression);
    const counts: ImportCounts = { created: 0, same: 0, refused: new Map() };
    const startedMs = performance.now();
    const finish = (until: '' | ' until then') => {
      terminal.showProgress('');
      terminal.note(`Read ${tookText(seen(counts), startedMs)}.`);
      const { created, same } = counts;
      const totals = { created, same, refused: refusedCount(counts) };
      if (values.json) {
        const refusedByCode = Object.fromEntries(counts.refused);
        const unreadColumns = reader.unreadColumns();
        terminal.print(JSON.stringify({ ...totals, refusedByCode, unreadColumns }));
      } else printFigures({}, { ...totals, ...byCode(counts) }, false, terminal);
      const joined = reader.joinedLines();
      if (joined !== undefined) terminal.note(joined);
      const path = refused.publish();
      if (path !== undefined) terminal.note(`What was refused${until}, and why, is in ${path}.`);
    };
    using _ = atInterruption(terminal, 'the import', () => {
      finish(' until then');
      return 'run it again to go on: plants that are stored count as same';
    });
    try {
      await importPlants(source.chunks, reader, counts, {
        store,
        onRefused: refused.add,
        onProgress: () =>
          terminal.showProgress(
            `import: ${plantsText(seen(counts))}`,
            source.bytes === undefined
              ? undefined
              : { done: source.bytesRead(), total: source.bytes, unit: 'bytes' },
          ),
        onWait: (why) => terminal.note(`The store takes no plants (${why}); retrying.`),
      });
      if (counts.refused.size === 0) refused.removeEarlier();
    } catch (error) {
      // Of a file without a plant, the error says all.
      if (values.json || seen(counts) > 0) finish('');
      if (!(error instanceof FileError)) throw error;
      const name = file === pipe ? 'standard input' : file;
      throw new CommandError(`${name} ${error.message}`, { cause: error });
    }
    finish('');
    return counts.refused.size === 0 ? 0 : 1;
  },
});

function refusedCount({ refused }: ImportCounts): number {
  return refused.values().reduce((sum, count) => sum + count, 0);
}

function seen(counts: ImportCounts): number {
  return counts.created + counts.same + refusedCount(counts);
}

function byCode({ refused }: ImportCounts): Readonly<Record<string, number>> {
  const sorted = [...refused].sort(([one], [other]) => one - other);
  return Object.fromEntries(sorted.map(([code, count]) => [`refused ${code}`, count]));
}
