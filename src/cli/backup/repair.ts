import { resolve } from 'node:path';
import { UsageError } from '../../config/values.ts';
import { command } from '../command.ts';
import { commandsOf } from '../engines.ts';
import { resolveBackup } from './parts.ts';

export const repair = command({
  positionals: [],
  summary:
    'Put right what a backup knows better, and keep the plants that only the damaged store holds. No process may have the store open.',
  need: 'Use it when "verify --against" has found damage.',
  flags: ['store', 'from', 'json'],
  examples: ['plant-store repair --from /var/backups/plants.db'],
  async run({ values: { store, from, json } }, terminal) {
    if (from?.engine !== 'sqlite')
      throw new UsageError('repair needs --from BACKUP: a backup, or a folder of backups');
    await commandsOf(store).repair(
      resolve(resolveBackup(from.path, store, terminal)),
      json,
      terminal,
    );
    return 0;
  },
});
