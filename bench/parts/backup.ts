/** The cost of a backup and of a comparison with it, and what creates notice of them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { constants, setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { programCommand } from '../../src/program.ts';
import type { Load, LoadResult } from '../generator/order.ts';
import { type Bench, measureRounds, type Timing } from '../part.ts';
import { fillStore } from '../store-feeder.ts';
import { renderFacts, renderSpreads } from '../table.ts';
import { type LoadedStore, runTarget, verifyCount, withFreshStore } from '../target-run.ts';
import { targets } from '../targets.ts';
import { connectionsText, fullLoadConnections, numberText, roundsText } from '../text.ts';

interface BackupSettings extends Timing {
  plants: number;
}

/** One run of a command, while nothing else runs. */
interface Cost {
  seconds: number;
  /** Of the new file. */
  bytes: number;
}

interface Round {
  backup: Cost;
  comparison: Cost;
  alone: LoadResult;
  besideBackup: LoadResult;
  besideComparison: LoadResult;
}

export interface BackupPart {
  settings: BackupSettings;
  rounds: Round[];
}

const capacityShare = 0.5;
/** A folder takes one backup a second: the time is in the name. */
const pauseMs = 1_000;

export async function measureBackup(settings: BackupSettings, bench: Bench): Promise<BackupPart> {
  const rounds = await measureRounds(settings.rounds, bench, () =>
    withFreshStore(bench.directory, 'random', (store) => measureRound(store, settings, bench)),
  );
  return { settings, rounds };
}

async function measureRound(
  store: LoadedStore,
  { plants, warmupMs, measureMs }: BackupSettings,
  { progress }: Bench,
): Promise<Round> {
  const folder = join(dirname(store.path), 'backups');
  const jobs = jobsOn(store.path, folder);
  mkdirSync(folder);
  await fillStore(store, plants);
  const backup = await measureCost(jobs.backup, folder);
  const comparison = await measureCost(jobs.comparison, folder);
  progress(
    `  backup ${backup.seconds.toFixed(2)} s, comparison ${comparison.seconds.toFixed(2)} s`,
  );
  const loads = await runTarget(targets.service, store, async (running) => {
    const load = { connections: fullLoadConnections, warmupMs, measureMs };
    const { createsPerSecond } = await running.load(load);
    const half: Load = { ...load, arrivalsPerSecond: createsPerSecond * capacityShare };
    return {
      alone: await running.load(half),
      besideBackup: await beside(jobs.backup, () => running.load(half)),
      besideComparison: await beside(jobs.comparison, () => running.load(half)),
    };
  });
  verifyCount(targets.service, store);
  return { backup, comparison, ...loads };
}

type Job = () => Promise<void>;

/** The commands as a service runs them: with a lower priority than its own. */
function jobsOn(store: string, folder: string): Record<'backup' | 'comparison', Job> {
  const run = async (...args: string[]) => {
    const [program, ...first] = programCommand;
    const child = spawn(program, [...first, ...args, '--store', `sqlite:${store}`], {
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    if (child.pid !== undefined) setPriority(child.pid, constants.priority.PRIORITY_BELOW_NORMAL);
    await once(child, 'close');
    if (child.exitCode !== 0) throw new Error(`${args.join(' ')} has failed`);
  };
  return {
    backup: () => run('backup', folder, '--keep', '1d:1d'),
    comparison: () => run('verify', '--against', folder),
  };
}

async function measureCost(job: Job, folder: string): Promise<Cost> {
  const startedMs = performance.now();
  await job();
  const seconds = (performance.now() - startedMs) / 1_000;
  const newest = readdirSync(folder).findLast((file) => file.endsWith('.db')) ?? '';
  return { seconds, bytes: statSync(join(folder, newest)).size };
}

/** Repeats the job until the load is over. */
async function beside(job: Job, load: () => Promise<LoadResult>): Promise<LoadResult> {
  let isOver = false;
  const repeated = (async () => {
    while (!isOver) {
      await job();
      await sleep(pauseMs);
    }
  })();
  const result = await load();
  isOver = true;
  await repeated;
  return result;
}

export function renderBackupTables({ settings, rounds }: BackupPart): string[] {
  const conditions = renderFacts({
    store: `${numberText(settings.plants)} plants with random ids`,
    load: `open loop, ${connectionsText(fullLoadConnections)}, half of the capacity; each job begins again a second after its end`,
    rounds: roundsText(settings),
  });
  const costs = renderSpreads(
    'on an idle machine',
    [
      ['backup', rounds.map(({ backup }) => backup)],
      ['comparison', rounds.map(({ comparison }) => comparison)],
    ],
    [
      ['seconds', 2, ({ seconds }) => seconds],
      ['file MB', 2, ({ bytes }) => bytes, 1e6],
    ],
  );
  const latencies = renderSpreads(
    'creates',
    [
      ['alone', rounds.map(({ alone }) => alone)],
      ['beside backups', rounds.map(({ besideBackup }) => besideBackup)],
      ['beside comparisons', rounds.map(({ besideComparison }) => besideComparison)],
    ],
    [
      ['answers/s', 0, (load) => load.createsPerSecond],
      ['p50 ms', 2, (load) => load.p50Ms],
      ['p99 ms', 2, (load) => load.p99Ms],
      ['max ms', 2, (load) => load.maxMs],
    ],
  );
  return [conditions, costs, latencies];
}
