import { limits } from '../limits.ts';
import { version } from '../program.ts';
import { openLog } from '../service/log.ts';
import { engineOf, openReader } from '../stores.ts';
import { command } from './command.ts';
import { commandsOf } from './engines.ts';

export const upgrade = command({
  positionals: [],
  summary: 'Upgrade a store of an earlier version.',
  need: 'For a role that owns the tables of a database; the start of the service does the same.',
  flags: ['store'],
  examples: [
    'plant-store upgrade',
    'plant-store upgrade --store postgres://owner@db.example.org/plants',
  ],
  async run({ values: { store } }, terminal) {
    const readable = terminal.errorsWidth !== undefined;
    const { errorsHaveColors: colors } = terminal;
    const { log, writeLast } = await openLog({ level: 'info', readable, colors });
    terminal.onExit(writeLast);
    await commandsOf(store).prepare(log, terminal);
    // Throws if there is no store.
    await using _reader = await openReader(store, limits.cli.readMs);
    log.info({ store: engineOf(store).name }, `the store is of version ${version}`);
    return 0;
  },
});
