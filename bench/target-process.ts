/** A target as a real process. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { limitTime } from './cores.ts';
import type { Target } from './targets.ts';

export interface RunningTarget {
  pid: number;
  port: number;
  /** From the spawn until the target printed its address. */
  startMs: number;
  /** Sends SIGTERM. Rejects unless the process then exits with 0. */
  stop(): Promise<void>;
}

const startMsMax = 15_000;
const stopMsMax = 15_000;
const outputCharsKept = 4_096;

export const token = 'bench-token-0123456789abcdef0123456789abcdef';

/** Resolves when the target has printed its address. */
export async function startTarget(
  target: Target,
  storePath: string,
  flags: string[] = [],
  env: Record<string, string> = {},
): Promise<RunningTarget> {
  const startedMs = performance.now();
  const child = spawn(process.execPath, [...target.command(storePath), ...flags], {
    // Without NODE_OPTIONS and the like: every target runs with the same flags.
    env: { PATH: process.env['PATH'], PLANT_STORE_TOKEN: token, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const killAtExit = () => child.kill('SIGKILL');
  process.prependOnceListener('exit', killAtExit); // before the store is removed
  child.once('exit', () => process.off('exit', killAtExit));

  const port = await readPort(target, child);
  const startMs = performance.now() - startedMs;
  const pid = child.pid ?? 0;
  const liftLimit = target.coreShare === undefined ? undefined : limitTime(pid, target.coreShare);
  return { pid, port, startMs, stop: () => stopProcess(target, child).then(liftLimit) };
}

async function readPort(target: Target, child: ChildProcess): Promise<number> {
  let output = '';
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const fail = (why: string) => reject(new Error(`${target.label}: ${why}\n${output}`));
  const onOutput = (chunk: Buffer) => {
    output = (output + chunk).slice(-outputCharsKept);
    const address = /https?:\/\/127\.0\.0\.1:(\d+)\D/.exec(output);
    if (address) resolve(Number(address[1]));
  };
  child.stdout?.on('data', onOutput);
  child.stderr?.on('data', onOutput);
  child.once('exit', (code) => fail(`exited with ${code} before it was ready`));
  const timer = setTimeout(() => fail(`not ready after ${startMsMax} ms`), startMsMax);
  return promise.finally(() => clearTimeout(timer));
}

async function stopProcess(target: Target, child: ChildProcess): Promise<void> {
  const exited = once(child, 'exit', { signal: AbortSignal.timeout(stopMsMax) });
  child.kill('SIGTERM');
  const [code] = await exited;
  if (code !== 0) throw new Error(`${target.label}: exited with ${code} on SIGTERM`);
}
