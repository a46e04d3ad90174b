import type { Readable } from 'node:stream';
import type { Standing } from '../store/inspection.ts';
import type { Setting } from './flags/command-line.ts';
import type { Environment } from './flags/environment.ts';
import type { FlagName, Values } from './flags/flags.ts';
import type { Style } from './terminal/screen.ts';

/** A stream that counts the bytes read from it. */
export type Input = Readable & { readonly bytesRead: number };

export interface Terminal {
  readonly env: Environment;
  /** Prints a line of the result. @returns what to wait for if the reader is slow */
  print(line: string, style?: Style): Promise<unknown> | undefined;
  /** `print` without a line end. @throws errors of the file system */
  write(text: string): Promise<unknown> | undefined;
  /** Standard input. The process does not end before the stream is destroyed. */
  input(): Input;
  /** Prints a line on standard error: everything but results. */
  note(line: string, style?: Style): void;
  /** Columns of the terminal for results. Undefined for a file or a pipe. */
  readonly width: number | undefined;
  /** As `showSteps`. Empty text removes the line. */
  showProgress(doing: string, standing?: Standing): void;
  readonly errorsWidth: number | undefined;
  readonly errorsHaveColors: boolean;
  /**
   * Calls the listener at each SIGTERM, SIGINT or SIGQUIT, and before earlier listeners, until it is
   * disposed of. While there is a listener, these signals do not end the process by themselves.
   */
  onStopSignal(listener: (signal: string) => void): Disposable;
  /**
   * Resolves at a SIGINT at least `limits.service.interruptAgainMs` after the call: a person has
   * pressed Ctrl-C again. An earlier SIGINT may belong to the same stop, because a process group, a
   * launcher and a supervisor each send a signal.
   */
  untilInterruptedAgain(): Promise<void>;
  /** From this call on, a SIGHUP does not end the process. The end of the terminal is a SIGTERM. */
  onHangup(listener: () => void): void;
  /** From this call on, standard output that cannot be written does not end the process. */
  onOutputFailed(listener: (error: NodeJS.ErrnoException) => void): void;
  /** Calls the listener at the end of the process, which waits for nothing more. */
  onExit(listener: () => void): void;
  /** The effective user id. Undefined on Windows. */
  readonly userId: number | undefined;
  /**
   * Ends the process, after the current calls of SQLite on other threads; by a signal if a disk does
   * not answer.
   */
  exit(code: number): never;
  endBy(signal: string): void;
}

interface Arguments<F extends FlagName> {
  readonly values: Values<F>;
  readonly positionals: readonly string[];
  readonly settings: readonly Setting[];
}

/** A command without its name, which is in `commands.ts`. */
export interface Definition<F extends FlagName = FlagName> {
  /** Names of the positional arguments: `[FILE]` is optional, `ID...` several, `a|b` words. */
  readonly positionals: readonly string[];
  readonly summary: string;
  /** Who needs the command, and when: one sentence. */
  readonly need: string;
  readonly flags: readonly F[];
  /** The same flags under headings, for the help of a command with many. */
  readonly headings?: Readonly<Record<string, readonly F[]>>;
  readonly examples: readonly string[];
  run(args: Arguments<F>, terminal: Terminal): Promise<number>;
}

export interface Command extends Definition {
  readonly name: string;
}

/** A command whose module is loaded when needed: all modules take longer than many a command. */
export interface ListedCommand {
  readonly name: string;
  load(): Promise<Command>;
}

export interface CommandGroup {
  readonly heading: string;
  readonly commands: readonly ListedCommand[];
}

export function listedIn(groups: readonly CommandGroup[]): ListedCommand[] {
  return groups.flatMap((group) => group.commands);
}

export function loadCommands(listed: readonly ListedCommand[]): Promise<Command[]> {
  return Promise.all(listed.map((one) => one.load()));
}

/** Types the values of a command by its flags. */
export function command<F extends FlagName>(definition: Definition<F>): Definition {
  return definition as unknown as Definition;
}

/** A command failed. The message is one line for the operator, with the way out. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}
