import type { Setting } from '../config/command-line.ts';
import type { Environment } from '../config/environment.ts';
import type { FlagName, Values } from '../config/flags.ts';
import type { Input } from '../transfer/import-source.ts';
import type { Style } from './terminal/screen.ts';

/** What a command needs of the process that it runs in. */
export interface Terminal {
  readonly env: Environment;
  /**
   * Results, for people and pipes. @returns what to wait for before many more lines, when the
   * reader is slower
   */
  print(line: string, style?: Style): Promise<unknown> | undefined;
  /** The same without a line end of its own. @throws the errors of the file system */
  write(text: string): Promise<unknown> | undefined;
  /** Standard input. From then on it keeps the process from ending until it is destroyed. */
  input(): Input;
  /** Everything else. */
  note(line: string, style?: Style): void;
  /**
   * Of the terminal that results are printed on, in columns; undefined where they go into a file or
   * a pipe.
   */
  readonly width: number | undefined;
  /**
   * Shows what is being done, on a terminal that is not dumb, in a line that the next call
   * replaces. An empty text removes it.
   */
  showProgress(doing: string): void;
  readonly errorsAreOnTerminal: boolean;
  readonly errorsHaveColors: boolean;
  /**
   * Resolves at the first SIGTERM or SIGINT with its name. From the call on, these signals do not
   * end the process by themselves.
   */
  untilSignal(): Promise<string>;
  /**
   * Resolves at a SIGINT that comes `limits.service.interruptAgainMs` or more after the call: a
   * person has pressed Ctrl-C again. One stop can bring several signals within that time, since a
   * process group, a launcher and a supervisor each send their own.
   */
  untilInterruptedAgain(): Promise<void>;
  /** Whose rights the process has: 0 is root. Undefined on Windows. */
  readonly userId: number | undefined;
  /** Ends the process at once, but for what SQLite is doing on other threads. */
  exit(code: number): never;
  /** Ends the process by that signal, which waits for nothing. */
  endBy(signal: string): void;
}

interface Arguments<F extends FlagName> {
  readonly values: Values<F>;
  readonly positionals: readonly string[];
  /** The same flags, as they would be typed. */
  readonly settings: readonly Setting[];
}

/** What a command is and does. Its name stands in the list of all, `commands.ts`. */
export interface Definition<F extends FlagName = FlagName> {
  /** Names of the arguments that are no flags; all must be there, except those in brackets. */
  readonly positionals: readonly string[];
  readonly summary: string;
  /** Who needs the command, and when: one sentence. */
  readonly need: string;
  readonly flags: readonly F[];
  readonly examples: readonly string[];
  /**
   * What the arguments that are no flags may be, where that is known: for the completion of a
   * shell.
   */
  readonly suggest?: (values: Values<F>) => readonly string[] | Promise<readonly string[]>;
  /** @returns the exit code: 0 done, 1 failed */
  run(args: Arguments<F>, terminal: Terminal): Promise<number>;
}

export interface Command extends Definition {
  /** One word or two: `serve`, `token create`. */
  readonly name: string;
}

/** Ties the flags that a command names to the values that it gets. */
export function command<F extends FlagName>(definition: Definition<F>): Definition {
  return definition as unknown as Definition;
}

/**
 * The command cannot be carried out. The message is one line for the operator and names the way
 * out.
 */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}
