import { readAsset } from '../../program.ts';
import { command } from '../command.ts';
import { UsageError } from '../flags/values.ts';

const shells = ['bash', 'zsh', 'fish'];

export const completion = command({
  positionals: [shells.join('|')],
  summary: 'Print a script that completes commands, flags and their values in a shell.',
  need: 'Use it if you type commands often.',
  flags: [],
  examples: shells.map((shell) => `plant-store completion ${shell}`),
  async run({ positionals: [shell = ''] }, terminal) {
    if (!shells.includes(shell))
      throw new UsageError(
        `SHELL must be one of ${shells.join(', ')}; it is ${JSON.stringify(shell)}`,
      );
    const script = readAsset(`completion/plant-store.${shell}`).toString();
    for (const line of script.trimEnd().split('\n')) terminal.print(line);
    return 0;
  },
});
