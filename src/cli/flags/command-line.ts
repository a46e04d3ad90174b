import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Environment } from './environment.ts';
import { type Flag, type FlagName, flags, type Values } from './flags.ts';
import { suggestion } from './suggestion.ts';
import { UsageError } from './values.ts';

type Typed = ReturnType<typeof typedArguments>['values'][string];

export type Setting = ReturnType<typeof setting>[number];

/** Not a flag: other users of the machine can read command lines. */
export const tokenVariable = 'PLANT_STORE_TOKEN';

const prefix = 'PLANT_STORE_';

/** `PLANT_STORE_BASE_PATH` for `base-path`. */
export function variableOf(name: FlagName): string {
  return `${prefix}${name.toUpperCase().replaceAll('-', '_')}`;
}

/** What Kubernetes sets in each pod for a Service whose name begins with `plant-store`. */
const kubernetesName = /_SERVICE_(HOST|PORT)(_|$)|_PORT_[0-9]+_(TCP|UDP|SCTP)_/;
const kubernetesValue = /^(tcp|udp|sctp):\/\//;

/** @throws UsageError for a `PLANT_STORE_…` that is the variable of no flag of any command */
export function demandKnownVariables(env: Environment): void {
  const known = [...(Object.keys(flags) as FlagName[]).map(variableOf), tokenVariable];
  for (const [name, value = ''] of Object.entries(env)) {
    if (!name.startsWith(prefix) || known.includes(name)) continue;
    if (kubernetesName.test(name) || kubernetesValue.test(value)) continue;
    const wayOut = suggestion(
      name.slice(prefix.length),
      known.map((word) => word.slice(prefix.length)),
      'each variable has the name of a flag, and --help lists the flags',
      (word) => `${prefix}${word}`,
    );
    throw new UsageError(`there is no variable ${name}; ${wayOut}`);
  }
}

/**
 * Reads the arguments of a command. A flag counts before its environment variable, and the variable
 * before the default.
 *
 * @throws UsageError
 */
export function parseCommandLine<F extends FlagName>(
  argv: readonly string[],
  names: readonly F[],
  env: Environment,
) {
  const { values: typed, positionals } = typedArguments(argv, names);
  const values = names.map((name) => [name, flagValue(name, typed[name], env)] as const);
  const settings = values.flatMap(([name, value]) => setting(name, value, typed[name], env));
  return { values: Object.freeze(Object.fromEntries(values)) as Values<F>, positionals, settings };
}

/** A flag that counts only beside another would be dropped without a word. @throws UsageError */
export function demandNeeded(names: readonly FlagName[], settings: readonly Setting[]): void {
  const isSet = (other: string) => settings.some(({ name }) => name === other);
  for (const { name, source } of settings) {
    const { needs }: Flag<unknown> = flags[name];
    if (source === 'default' || needs === undefined || isSet(needs)) continue;
    if (!names.includes(needs as FlagName)) continue;
    const given = source === 'flag' ? `--${name}` : variableOf(name);
    throw new UsageError(`${given} has no effect without --${needs}; set both, or none`);
  }
}

function setting(name: FlagName, value: unknown, typed: Typed, env: Environment) {
  const flag: Flag<unknown> = flags[name];
  if (value === undefined) return [];
  const variable = variableText(name, env);
  const text = flag.show?.(value) ?? `${typed ?? variable ?? flag.default}`;
  const origin = variable === undefined ? 'default' : 'variable';
  const source = typed === undefined ? origin : 'flag';
  const isPath = ['FILE', 'FOLDER'].includes(flag.placeholder) && flag.show === undefined;
  const inForce = isPath ? resolve(text) : null;
  return [{ name, value: text, default: flag.default ?? null, source, inForce } as const];
}

function flagValue(name: FlagName, typed: Typed, env: Environment): unknown {
  const flag: Flag<unknown> = flags[name];
  const variable = variableText(name, env);
  const origin = typed === undefined ? variableOf(name) : `--${name}`;
  const text = typed ?? variable;
  if (text === undefined) return flag.default && flag.parse(flag.default, env);
  if (!flag.isRepeated) return parsed(flag, origin, `${text}`, env);
  const texts = Array.isArray(text) ? text : `${text}`.split('\n');
  return texts.flatMap((one) => parsed(flag, origin, `${one}`, env));
}

function variableText(name: FlagName, env: Environment): string | undefined {
  const { emptyVariableUnsets }: Flag<unknown> = flags[name];
  const text = env[variableOf(name)];
  return text === '' && emptyVariableUnsets ? undefined : text;
}

/** @param name of the flag, its variable or an argument @throws UsageError that begins with it */
export function parsed<T>(
  flag: Pick<Flag<T>, 'parse' | 'show'>,
  name: string,
  value: string,
  env: Environment,
): T {
  try {
    return flag.parse(value, env);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    // A password may follow the first of these characters.
    const shown = flag.show === undefined ? value : value.replace(/(?<=[:@=]).+/s, '…');
    throw new UsageError(`${name} ${error.message}; it is ${JSON.stringify(shown)}`, {
      cause: error,
    });
  }
}

function typedArguments(argv: readonly string[], names: readonly FlagName[]) {
  const options = Object.fromEntries(
    names.map((name) => [
      name,
      {
        type: flags[name].placeholder === '' ? 'boolean' : 'string',
        multiple: flags[name].placeholder !== '',
      } as const,
    ]),
  );
  try {
    const { values, positionals } = parseArgs({
      args: behindFlags(argv),
      options,
      allowPositionals: true,
    });
    return {
      values: Object.fromEntries(names.map((name) => [name, once(name, values[name])])),
      positionals,
    };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw new UsageError(explained(error.message, names), { cause: error });
  }
}

/** `parseArgs` would take the last of several values without a word. @throws UsageError */
function once<T>(name: FlagName, typed: T | T[] | undefined): T | T[] | undefined {
  const flag: Flag<unknown> = flags[name];
  if (!Array.isArray(typed) || flag.isRepeated) return typed;
  if (typed.length === 1) return typed[0];
  throw new UsageError(
    `--${name} is given twice; give it once, and put commas between the values of a list`,
  );
}

function explained(message: string, names: readonly FlagName[]): string {
  const [, dashes = '', typed = ''] = /^(?:Unknown o|O)ption '(-+)([^' ]*)/.exec(message) ?? [];
  const flag = `${dashes}${typed}`;
  if (message.startsWith('Unknown')) {
    const help = `--help lists the flags${dashes === '-' ? ', and a word behind -- is no flag' : ''}`;
    const wayOut = suggestion(typed, names, help, (name) => `--${name}`);
    return `there is no flag ${flag}; ${wayOut}`;
  }
  if (message.includes('does not take')) return `${flag} takes no value`;
  const { placeholder } = flags[typed as FlagName];
  const needed = `${flag} needs a value: ${placeholder}`;
  // The next word begins with a dash.
  return message.includes('ambiguous')
    ? `${needed}; a value that begins with a dash is written as ${flag}=VALUE`
    : needed;
}

/**
 * `parseArgs` takes `-5` for a flag, and an id may be negative: `get -5` becomes `get -- -5`.
 * Behind a flag that needs a value, it stays.
 */
function behindFlags(argv: readonly string[]): string[] {
  const end = argv.includes('--') ? argv.indexOf('--') : argv.length;
  const needsValue = (word = '') =>
    word.startsWith('--') && Boolean(flags[word.slice(2) as FlagName]?.placeholder);
  const isNegative = (word: string, at: number) =>
    at < end && /^-[0-9]+$/.test(word) && !needsValue(argv[at - 1]);
  const typed = argv.filter((word, at) => at < end && !isNegative(word, at));
  return [...typed, '--', ...argv.filter(isNegative), ...argv.slice(end + 1)];
}
