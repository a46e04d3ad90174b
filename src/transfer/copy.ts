import { command } from '../cli/command.ts';
import { parsed } from '../cli/flags/command-line.ts';
import { flags } from '../cli/flags/flags.ts';
import { storeOrFile } from '../cli/flags/store-location.ts';
import { UsageError } from '../cli/flags/values.ts';
import { isSameFile } from '../disk/files.ts';
import { numberText, plantsText } from '../quantity-text.ts';
import { engineOf } from '../store/engines.ts';
import type { StoreLocation } from '../store/location.ts';
import { demandSame, makeStoreCopy } from './store-copy.ts';

export const copy = command({
  positionals: ['FROM', 'TO'],
  summary: 'Copy a store into another, and compare both. Services may run on both stores.',
  need: 'Use it to move to another engine or machine. FROM may be a backup; TO is made if it does not exist.',
  flags: ['json', 'accept-lost-commits'],
  examples: [
    'plant-store copy sqlite:data/plants.db postgres://plants@db.example.org/plants',
    'plant-store copy postgres://plants@db.example.org/plants sqlite:data/plants.db',
  ],
  async run(
    { values: { json, 'accept-lost-commits': acceptsLostCommits }, positionals },
    terminal,
  ) {
    const [first = '', second = ''] = positionals;
    const from = parsed({ ...flags.store, parse: storeOrFile }, 'FROM', first, terminal.env);
    const to = parsed(flags.store, 'TO', second, terminal.env);
    if (isSame(from, to)) throw new UsageError('FROM and TO are the same store');
    const choices = { acceptsLostCommits, isForBackup: false };
    const copied = await makeStoreCopy(from, to, choices, terminal);
    terminal.note(`Copied ${copied.took}; ${numberText(copied.counts.same)} existed already.`);
    if (json) {
      const { tokens, source, target, counts, known } = copied;
      const { created, same, taken, extra } = counts;
      const stores = { from: engineOf(from).url, to: engineOf(to).url };
      const plants = { known, created, same, taken: taken.count, onlyInTarget: extra.count };
      terminal.print(JSON.stringify({ ...stores, ...plants, tokens, source, target }));
    }
    demandSame(copied);
    const { known, source } = copied;
    const older = known > 0 ? `${plantsText(known)} of the copy before, and ` : '';
    const says = `${older}${plantsText(source.plants)}, with the digest ${source.digest}`;
    terminal.note(`Both stores hold ${says}.`, 'good');
    return 0;
  },
});

/** Different URLs of one database are not recognised: such a copy finds all, and writes none. */
function isSame(one: StoreLocation, other: StoreLocation): boolean {
  const [file, otherFile] = [engineOf(one).file, engineOf(other).file];
  if (file !== undefined && otherFile !== undefined) return isSameFile(file, otherFile);
  return JSON.stringify(one) === JSON.stringify(other);
}
