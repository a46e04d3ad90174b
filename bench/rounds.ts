/** The measuring: the targets one after the other, round after round. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { percentile } from '../src/percentile.ts';
import { fdatasyncTimesMs } from '../src/prove/fdatasync.ts';
import type { LoadOrder, LoadResult } from './load-generator.ts';
import { firstId } from './plant.ts';
import { startTarget, token } from './target-process.ts';
import { rawResponder, type Target, type TargetName, targets } from './targets.ts';
import { connectionsText } from './text.ts';

export interface Settings {
  rounds: number;
  warmupMs: number;
  measureMs: number;
  /** Descending: the heaviest load comes first, so that the peak RSS read after it is the peak under full load. */
  connections: number[];
  targets: TargetName[];
}

export interface Measurement extends LoadResult {
  connections: number;
}

interface TargetRun {
  measurements: Measurement[];
  acknowledged: number;
  /** Counted in the store after the target has stopped; null for a target that stores nothing. */
  stored: number | null;
}

export interface Round {
  fdatasyncP50Ms: number;
  targets: Partial<Record<TargetName, TargetRun>>;
}

export interface Measured {
  ceiling: Measurement[];
  rounds: Round[];
}

type Progress = (line: string) => void;

const fdatasyncMs = 500;
/** Lets the disk finish what the target before has left behind. */
const settleMs = 500;
const generatorOvertimeMsMax = 30_000;

const runFile = promisify(execFile);

/** Throws when any answer was not an acknowledgement, or a store does not hold exactly what was acknowledged. */
export async function measureRounds(settings: Settings, directory: string, progress: Progress): Promise<Measured> {
  const ceiling = await runTarget(rawResponder, settings, directory, progress);
  const rounds: Round[] = [];
  for (let number = 1; number <= settings.rounds; number++) {
    progress(`round ${number} of ${settings.rounds}`);
    rounds.push(await measureRound(settings, directory, progress));
  }
  return { ceiling: ceiling.measurements, rounds };
}

async function measureRound(settings: Settings, directory: string, progress: Progress): Promise<Round> {
  const round: Round = { fdatasyncP50Ms: percentile(fdatasyncTimesMs(join(directory, 'fdatasync'), fdatasyncMs), 0.5), targets: {} };
  for (const name of settings.targets) {
    round.targets[name] = await runTarget(targets[name], settings, directory, progress);
  }
  return round;
}

/**
 * Each round starts each target afresh on an empty store: what a process happens to compile and to allocate differs from
 * start to start, and the spread over the rounds is to show it.
 */
async function runTarget(target: Target, settings: Settings, directory: string, progress: Progress): Promise<TargetRun> {
  const storeDirectory = mkdtempSync(join(directory, 'store-'));
  const storePath = join(storeDirectory, 'plants.db');
  const running = await startTarget(target, storePath);
  const { warmupMs, measureMs } = settings;
  const load = { port: running.port, token, targetPid: running.pid, warmupMs, measureMs };
  const run: TargetRun = { measurements: [], acknowledged: 0, stored: null };
  let nextId = firstId;
  for (const connections of settings.connections) {
    const result = await generateLoad({ ...load, connections, firstId: nextId });
    progress(`  ${target.label}, ${connectionsText(connections)}: ${Math.round(result.createsPerSecond)} creates/s`);
    run.measurements.push({ connections, ...result });
    run.acknowledged += result.acknowledged;
    nextId = result.nextId;
  }
  await running.stop();
  run.stored = target.countStored?.(storePath) ?? null;
  if (run.stored !== null && run.stored !== run.acknowledged) {
    throw new Error(`${target.label}: acknowledged ${run.acknowledged} creates and holds ${run.stored}`);
  }
  rmSync(storeDirectory, { recursive: true });
  await sleep(settleMs);
  return run;
}

async function generateLoad(order: LoadOrder): Promise<LoadResult> {
  const { stdout } = await runFile(process.execPath, [join(import.meta.dirname, 'load-generator.ts'), JSON.stringify(order)], {
    timeout: order.warmupMs + order.measureMs + generatorOvertimeMsMax,
  });
  return JSON.parse(stdout);
}
