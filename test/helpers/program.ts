import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { pause } from './pause.ts';

/** What `npx plant-store` starts. */
const source = fileURLToPath(new URL('../../bin/plant-store.js', import.meta.url));

/** Runs the tests on an installed program, such as a built executable. */
const installed = process.env['TEST_PROGRAM'];

/** The bundles that the run has built of the source: they start sooner. A file that runs alone has none. */
const built = process.env['BUILT_PROGRAM'];

/** The file and the arguments of a command of the real program, for spawn(). */
export function commandLine(...args: string[]): [string, string[]] {
  if (installed) return [resolve(installed), args];
  if (built === undefined) return [process.execPath, [source, ...args]];
  // The bundles keep their compiled code beside them, and are removed with it.
  return ['env', ['-u', 'NODE_COMPILE_CACHE', process.execPath, built, ...args]];
}

/**
 * For NODE_OPTIONS. It needs no source: it changes only what belongs to Node, and the bundles of a
 * run have `changed-limits.ts` in them.
 */
export const withSabotage = `--import=${fileURLToPath(new URL('sabotage.ts', import.meta.url))}`;

/** Why a test is skipped that puts code into the program. */
export const takesNoCode = installed ? 'only the source takes code of a test' : false;

/** The program in a command line of a shell. */
export const programInShell = commandLine()
  .flat()
  .map((word) => `'${word}'`)
  .join(' ');

/** What cleans up at its end: a test, or with `{ after }` of node:test a whole file. */
export interface Owner {
  after(cleanup: () => unknown): void;
}

/** An owner whose end is the end of the stack. It cleans up in reverse. */
export function ownerOf(stack: AsyncDisposableStack): Owner {
  return { after: (cleanup) => stack.defer(async () => void (await cleanup())) };
}

/**
 * An owner that cleans up in reverse, as a test itself does not: a server has then ended before its
 * folder is removed, and a page is closed before its server.
 */
export function inReverse(owner: Owner): Owner {
  const stack = new AsyncDisposableStack();
  owner.after(() => stack.disposeAsync());
  return ownerOf(stack);
}

/** What a process has printed and how it ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Of the environment. Three are for the helper instead: OPEN_FILES is the limit of file descriptors
 * (ulimit -n), LAUNCHER_NODE the path of the Node that starts the program, in a process group of
 * its own, and FOLDER the one that the program works in.
 */
type Variables = Readonly<Record<string, string>>;

/** Runs a command of the real program to its end. */
export function runProgram(...started: Parameters<typeof startProgram>): Promise<Ended> {
  return endOf(startProgram(...started));
}

async function endOf(child: ReturnType<typeof startProgram>): Promise<Ended> {
  const exit = once(child, 'exit');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), exit]);
  return { code: child.exitCode, stdout, stderr };
}

/** Starts a command of the real program, which is killed when the test ends. */
export function startInTest(owner: Owner, ...started: Parameters<typeof startProgram>) {
  const child = startProgram(...started);
  owner.after(() => child.kill('SIGKILL'));
  return { child, ended: endOf(child) };
}

/** A running server, and what it takes to talk to it. */
export interface RunningServer {
  readonly child: ChildProcess;
  /** Where plants are created. */
  readonly plantsUrl: string;
  readonly port: number;
  /** Where operators are answered, with a slash at the end; empty if nowhere. */
  readonly opsUrl: string;
  /** What it has printed until now. */
  stdout(): string;
  stderr(): string;
  /**
   * Resolves when standard error satisfies the test. What the server logs about a request may come
   * later than its reply.
   */
  logged(test: (stderr: string) => boolean): Promise<void>;
  /** Sends the signal and waits for the end. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

/** The token that every server under test admits, as PLANT_STORE_TOKEN. */
export const token = 'test-token-0123456789abcdefghijklmnopqrstuvwxyz';

/**
 * A line that has not been logged by then will not be. A job has a low priority: beside busy
 * processes, it takes its time.
 */
const logMs = 120_000;

/**
 * What holds for one thread has to hold across several, also where a machine with few cores would
 * have one by itself.
 */
const severalThreads = { PLANT_STORE_HTTP_THREADS: '2' };

/**
 * For a server on which nothing depends on that: a thread takes longer to start than most tests.
 */
export const oneThread: readonly string[] = ['--http-threads', '1'];

/**
 * Starts the real program, by default on a free port, and waits until it says that it is ready. It
 * is killed when the test ends.
 *
 * @param store the path of a file, or the URL of a database
 */
export async function startServer(
  owner: Owner,
  store: string,
  args: readonly string[] = [],
  variables: Variables = { PLANT_STORE_TOKEN: token },
): Promise<RunningServer> {
  const port = args.includes('--port') ? [] : ['--port', '0'];
  const child = startProgram(['serve', ...port, '--store', storeText(store), ...args], {
    ...severalThreads,
    ...variables,
  });
  owner.after(() => child.kill('SIGKILL'));
  const printed = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (printed.stdout += chunk));
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (printed.stderr += chunk));
  // After the exit, and after the last that it has printed.
  const exit = once(child, 'close');

  // The line of the log that says so comes in every format of the log.
  while (!/ready/.test(printed.stderr)) {
    await Promise.race([once(child.stderr, 'data'), exit]);
    const end = child.exitCode ?? child.signalCode;
    assert.equal(end, null, `the server has ended: ${printed.stderr}`);
  }
  const plantsUrl = /https?:\/\/[^"\s]*\/plants/.exec(printed.stderr)?.[0];
  assert(plantsUrl, `no address in: ${printed.stderr}`);
  return {
    child,
    plantsUrl,
    port: Number(new URL(plantsUrl).port),
    opsUrl: /opsUrl\W+(https?:\/\/[^"\s]*)/.exec(printed.stderr)?.[1] ?? '',
    stdout: () => printed.stdout,
    stderr: () => printed.stderr,
    async logged(test) {
      const signal = AbortSignal.timeout(logMs);
      while (!test(printed.stderr)) await once(child.stderr, 'data', { signal });
    },
    async stop(signal = 'SIGTERM') {
      child.kill(signal);
      await exit;
      return child.exitCode;
    },
  };
}

/** For a node that gives its database little time, where a busy machine may take more at the start. */
export const startImpatient: typeof startServer = (...args) =>
  startServer(...args).catch((error) => {
    assert.match(
      error.message,
      /has not answered in time|were in use for too long|no answer within/,
    );
    return startImpatient(...args);
  });

/** As `--store` names it. */
export function storeText(store: string): string {
  return store.startsWith('postgres://') ? store : `sqlite:${store}`;
}

/** A running server with a store of its own, whose file is at `store`. */
export interface ServerWithStore extends RunningServer {
  readonly store: string;
}

/** The same on a new store. */
export async function startServerOnNewStore(
  owner: Owner,
  ...args: string[]
): Promise<ServerWithStore> {
  const store = await storePath(owner);
  return { ...(await startServer(owner, store, args)), store };
}

/** A new folder that is removed when the test ends. */
export async function temporaryFolder(owner: Owner, parent = tmpdir()): Promise<string> {
  const folder = await mkdtemp(join(parent, 'plant-store-test-'));
  // A process that is killed meanwhile may still end the making of a file.
  owner.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}

/** The path of a store that is still to be made, in a new folder. */
export async function storePath(owner: Owner): Promise<string> {
  return join(await temporaryFolder(owner), 'plants.db');
}

/** Sends a create. `body` is sent as it is if it is a string or bytes. */
export function create(
  plantsUrl: string,
  body: object | string | Uint8Array,
  headers: Variables = {},
): Promise<Response> {
  return fetch(plantsUrl, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', ...headers },
    body:
      typeof body === 'string'
        ? body
        : body instanceof Uint8Array
          ? (body as Uint8Array<ArrayBuffer>)
          : JSON.stringify(body),
  });
}

/**
 * Sends a create again and again until it gets 200, for as long as a service may take to be back,
 * and some more.
 */
export async function createdAtLast(plantsUrl: string, plant: object): Promise<void> {
  const givenUpMs = performance.now() + 60_000;
  for (;;) {
    const { status } = await create(plantsUrl, plant);
    if (status === 200) return;
    assert(performance.now() < givenUpMs, `still ${status}`);
    await pause();
  }
}

/** Tests run side by side, on machines that may be slow. */
export const besideOthers = { PLANT_STORE_OPS_PORT: '0', PGCONNECT_TIMEOUT: '20' };

/** Starts a command of the real program. */
export function startProgram(
  args: readonly string[],
  {
    OPEN_FILES: openFiles,
    LAUNCHER_NODE: node,
    FOLDER: cwd,
    ...variables
  }: Record<string, string> = {},
) {
  // Nothing of the developer's own settings may reach the program.
  const inherited = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('PLANT_STORE_')),
  );
  const limited =
    openFiles === undefined ? [] : ['sh', '-c', `ulimit -n ${openFiles}; exec "$@"`, 'sh'];
  const { NODE_OPTIONS: code = '', SABOTAGE: harm } = variables;
  // Other code of a test replaces files of the source.
  const replacesSource = code.replace(withSabotage, '') !== '' && installed === undefined;
  const [file, withArgs] =
    node !== undefined || replacesSource
      ? [node ?? process.execPath, [replacesSource ? source : (built ?? source), ...args]]
      : commandLine(...args);
  const isBuilt = built !== undefined && withArgs.includes(built);
  if (isBuilt && harm === undefined) delete variables['NODE_OPTIONS'];
  const [program, ...rest] = [...limited, file, ...withArgs] as [string, ...string[]];
  return spawn(program, rest, {
    env: { ...inherited, ...besideOthers, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: node !== undefined,
    cwd,
  });
}

/** The processes that a process has started. Known on Linux only. */
export function childrenOf(pid = 0): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  return existsSync(file)
    ? readFileSync(file, 'utf8').trim().split(' ').filter(Boolean).map(Number)
    : [];
}
