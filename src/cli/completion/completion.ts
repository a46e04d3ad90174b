import { readAsset } from '../../program.ts';
import {
  type Command,
  command,
  type ListedCommand,
  loadCommands,
  type Terminal,
} from '../command.ts';
import { parseCommandLine } from '../flags/command-line.ts';
import { type Flag, type FlagName, flags, helpOf } from '../flags/flags.ts';
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

/** What the scripts of the shells call, with all words before the cursor. */
export const completeWord = '__complete';

type Candidate = readonly [word: string, help?: string];

const files: Candidate = [':files'];

/** Prints the candidates for the last word, each with a tab and its meaning. */
export async function complete(
  words: readonly string[],
  { print }: Terminal,
  all: readonly ListedCommand[],
): Promise<number> {
  const last = words.at(-1) ?? '';
  for (const candidate of await candidates(words.slice(0, -1), last, all)) {
    if (candidate === files || candidate[0].startsWith(last)) print(candidate.join('\t'));
  }
  return 0;
}

async function candidates(
  words: readonly string[],
  last: string,
  all: readonly ListedCommand[],
): Promise<readonly Candidate[]> {
  const before = words[0] === 'help' ? words.slice(1) : words;
  const listed = all.find(({ name }) => `${before.join(' ')} `.startsWith(`${name} `));
  if (listed === undefined) return nextWords(before, all);
  const known = await listed.load();
  const args = before.slice(known.name.split(' ').length);
  const [, inLast] = /^--([a-z-]+)=/.exec(last) ?? [];
  if (inLast !== undefined)
    return valuesOf(inLast, known, last).map((one) =>
      one === files ? files : [`--${inLast}=${one[0]}`],
    );
  const [, open] = /^--([a-z-]+)$/.exec(args.at(-1) ?? '') ?? [];
  if (open !== undefined && flags[open as FlagName]?.placeholder)
    return valuesOf(open, known, last);
  return last.startsWith('-') ? unusedFlags(known, args) : argumentsOf(known, args, last);
}

/** The first words of all commands, or the second words after `token` or `plants`. */
async function nextWords(
  before: readonly string[],
  all: readonly ListedCommand[],
): Promise<Candidate[]> {
  const begun = await loadCommands(
    all.filter(({ name }) => name.startsWith([...before, ''].join(' '))),
  );
  const byWord = Map.groupBy(begun, ({ name }) => name.split(' ')[before.length] ?? '');
  return [...byWord].map(([word, some]) => [
    word,
    some.map(({ name, summary }) => (name.endsWith(word) ? summary : name)).join(', '),
  ]);
}

function valuesOf(name: string, known: Command, last: string): Candidate[] {
  if (!known.flags.includes(name as FlagName)) return [];
  const { choices, placeholder }: Flag<unknown> = flags[name as FlagName];
  if (choices) return choices.map((choice) => [choice]);
  if (placeholder === 'FILE' || placeholder === 'BACKUP') return [files];
  return placeholder === 'STORE' ? storesFrom(last) : [];
}

function storesFrom(last: string): Candidate[] {
  return last.includes('sqlite:') ? [files] : [['sqlite:']];
}

function unusedFlags(
  { name: command, flags: names }: Command,
  args: readonly string[],
): Candidate[] {
  const unused = names.filter(
    (name) =>
      (flags[name] as Flag<unknown>).isRepeated ||
      !args.some((arg) => arg === `--${name}` || arg.startsWith(`--${name}=`)),
  );
  return [
    ...unused.map((name) => [`--${name}`, helpOf(name, command)] as const),
    ['--help', 'show the flags and examples'],
  ];
}

/** Positional arguments, or flags if none is missing. @throws UsageError if `args` are wrong */
function argumentsOf(known: Command, args: readonly string[], last: string): readonly Candidate[] {
  const { positionals } = parseCommandLine<FlagName>(args, known.flags, {});
  const next = known.positionals[positionals.length];
  if (next === undefined) return unusedFlags(known, args);
  if (/^\[?(FILE|DEST|SRC)\]?$/.test(next)) return [files];
  if (next === 'TO') return storesFrom(last);
  if (next === 'FROM') return [...storesFrom(last), files];
  return next.includes('|') ? next.split('|').map((word) => [word]) : [];
}
