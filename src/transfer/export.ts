import { createWriteStream, existsSync, lstatSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setImmediate } from 'node:timers/promises';
import { createGzip, createZstdCompress } from 'node:zlib';
import { CommandError, command, type Terminal } from '../cli/command.ts';
import { atInterruption } from '../cli/terminal/interruption.ts';
import { tookText } from '../cli/terminal/progress.ts';
import { withUnfinishedFolder } from '../cli/unfinished-folder.ts';
import { linkDurably, syncFolder } from '../disk/files.ts';
import { limits } from '../limits.ts';
import { engineOf } from '../store/engines.ts';
import type { StoreLocation } from '../store/location.ts';
import type { PlantSnapshot } from '../store/plants.ts';
import type { Format } from './format.ts';
import { type Compression, formats, pipe, writtenFormat } from './formats.ts';
import { refuseStoreFile } from './store-files.ts';

export const exportCommand = command({
  positionals: ['[FILE]'],
  summary:
    'Write all plants of one moment, in ascending order of id, to a file or to standard output.',
  need: 'Use it for other programs, and for archives.',
  flags: ['store', 'format', 'overwrite', 'json'],
  examples: [
    'plant-store export plants.ndjson',
    'plant-store export plants.csv.gz',
    'plant-store export --format csv',
    'plant-store export plants.ndjson.zst --overwrite --json',
  ],
  async run({ values, positionals: [file = pipe] }, terminal) {
    const { format, compression } = writtenFormat(file, values.format);
    if (file !== pipe) checkDestination(file, values.store, values.overwrite);
    await using store = await engineOf(values.store).openReader(limits.cli.readMs);
    await using snapshot = await store.openSnapshot();
    const plants = await snapshot.countPlants();
    const startedMs = performance.now();
    // A bar on the terminal of the plants would overwrite them.
    const isSeen = file !== pipe || terminal.width === undefined;
    const pages = textOf(
      snapshot,
      formats[format],
      (done) => isSeen && terminal.showProgress('export', { done, total: plants, unit: 'plants' }),
    );

    if (file === pipe) {
      using _ = atInterruption(terminal, 'the export', () => 'export again');
      for await (const page of pages) {
        await terminal.write(page);
        // A file takes each page at once. Without a pause, no signal would arrive.
        await setImmediate();
      }
    } else {
      const publish = (whole: string) => giveName(whole, file, values.store, values.overwrite);
      await writeFile(file, pages, compression, publish, terminal);
    }
    terminal.showProgress('');
    const took = tookText(plants, startedMs);
    if (!values.json) terminal.note(`Exported ${took}${file === pipe ? '' : ` to ${file}`}.`);
    else if (file === pipe) terminal.note(JSON.stringify({ plants, format }));
    else {
      const whole = resolve(file);
      terminal.print(JSON.stringify({ file: whole, plants, format, bytes: statSync(whole).size }));
    }
    return 0;
  },
});

/** Replacing a device would remove it: for root, even /dev/null. @throws CommandError */
function checkDestination(path: string, store: StoreLocation, mayReplace: boolean): void {
  refuseStoreFile(path, store);
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined) return;
  if (!there.isFile())
    throw new CommandError(`${path} exists and is not a regular file; choose another name`);
  if (!mayReplace) throw nameTaken(path);
}

async function* textOf(
  snapshot: PlantSnapshot,
  format: Format,
  onProgress: (written: number) => void,
): AsyncGenerator<string> {
  yield format.head(false);
  let written = 0;
  for await (const page of snapshot.pages()) {
    yield page.map((plant) => format.write(plant)).join('');
    written += page.length;
    onProgress(written);
  }
}

function writeFile(
  path: string,
  pages: AsyncIterable<string>,
  compression: Compression | undefined,
  publish: (whole: string) => void,
  terminal: Terminal,
) {
  const before = existsSync(path) ? `${path} is as it was` : 'nothing was written';
  return withUnfinishedFolder(
    { path, work: 'the export', left: `${before}; export again` },
    terminal,
    async (folder) => {
      const whole = join(folder, basename(path));
      const file = createWriteStream(whole, { flags: 'wx', mode: 0o600, flush: true });
      if (compression === undefined) await pipeline(pages, file);
      else await pipeline(pages, compression === 'gz' ? createGzip() : createZstdCompress(), file);
      publish(whole);
    },
  );
}

function giveName(whole: string, path: string, store: StoreLocation, mayReplace: boolean): void {
  // A file of a store may have been made there since the first check.
  checkDestination(path, store, mayReplace);
  if (mayReplace) {
    renameSync(whole, path);
    syncFolder(dirname(path));
  } else if (!linkDurably(whole, path)) throw nameTaken(path);
}

function nameTaken(path: string): CommandError {
  return new CommandError(
    `${path} exists already; choose another name, or replace the file with --overwrite`,
  );
}
