import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, watch } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startProgram, token } from '../helpers/program.ts';
import type { CheckReport } from './check-journal.ts';
import { type Journal, openJournal, runConnections } from './client.ts';
import { type Run, runAsCommand } from './command.ts';
import { createWorkload, seededRandom, type Workload } from './workload.ts';

/*
 * Kills a loaded server at random moments, starts it again on the same store, and so on; then a
 * process of its own compares the store with the journal that the client has kept. A kill comes
 * with an event (a request has been sent, a plant acknowledged, a file of the store has changed,
 * something was printed), never after a time.
 */

const checker = fileURLToPath(new URL('./check-journal.ts', import.meta.url));

/** A server that shows no sign of life for so long fails the run. */
const cycleMsMax = 60_000;

/**
 * The seed repeats the requests and the moments of the kills, as far as the timing of two processes
 * can be repeated.
 */
export interface KillOptions extends Omit<Run, 'owner'> {
  readonly cycles: number;
  readonly connections: number;
  /** Factor for the number of events in the life of each server. */
  readonly lives: number;
  /** Cycles between two checks. The store is also checked at the end and after the last retries. */
  readonly checkEvery: number;
  /** A server that waits for an event of its files is killed at this request of its life. */
  readonly requestsMax?: number;
}

export interface KillReport {
  /** Kills by what had happened just before. */
  readonly kills: Readonly<Record<Happening, number>>;
  /** How often the server was killed before it was ready. */
  readonly killsBeforeReady: number;
  /** The run ends at the first check that finds any. */
  readonly violations: readonly string[];
  /** Of the last check. */
  readonly counts: CheckReport['counts'];
}

type Happening = 'store touched' | 'printed' | 'request sent' | 'plant acknowledged';

interface Moment {
  readonly happening: Happening;
  readonly count: number;
}

export async function killAgainAndAgain(options: KillOptions): Promise<KillReport> {
  const { folder, cycles, seed, lives, checkEvery, report } = options;
  const storeFolder = join(folder, 'store');
  mkdirSync(storeFolder);
  const store = join(storeFolder, 'plants.db');
  const journalPath = join(folder, 'journal.ndjson');
  using journal = openJournal(journalPath);
  const workload = createWorkload(seed, token);
  const setting = { ...options, storeFolder, store, journal, workload };
  const kills = { 'store touched': 0, printed: 0, 'request sent': 0, 'plant acknowledged': 0 };
  let killsBeforeReady = 0;

  const random = seededRandom(seed);
  for (let cycle = 1; cycle <= cycles; cycle += 1) {
    const moment = randomMoment(random, lives);
    const { wasReady } = await runServer(setting, moment);
    kills[moment.happening] += 1;
    if (!wasReady) killsBeforeReady += 1;
    if (cycle % checkEvery !== 0 && cycle !== cycles) continue;
    // The store is just as the killed server has left it.
    const { violations, counts } = checkInProcess(store, journalPath);
    report(`cycle ${cycle} of ${cycles}: ${JSON.stringify(counts)}`);
    if (violations.length > 0) return { kills, killsBeforeReady, violations, counts };
  }
  await runServer(setting, 'retry what is unknown and stop');
  return { kills, killsBeforeReady, ...checkInProcess(store, journalPath) };
}

function randomMoment(random: () => number, lives: number): Moment {
  const upTo = (max: number) => 1 + Math.floor(random() * max);
  const draw = random();
  if (draw < 0.15) return { happening: 'store touched', count: upTo(6) };
  if (draw < 0.2) return { happening: 'printed', count: upTo(2) };
  if (draw < 0.4) return { happening: 'store touched', count: upTo(300 * lives) };
  if (draw < 0.7) return { happening: 'request sent', count: upTo(600 * lives) };
  return { happening: 'plant acknowledged', count: upTo(400 * lives) };
}

interface Setting extends Pick<KillOptions, 'connections' | 'requestsMax'> {
  readonly storeFolder: string;
  readonly store: string;
  readonly journal: Journal;
  readonly workload: Workload;
}

/**
 * One life of a server: it is killed at the moment given, or stopped in order once every unknown
 * outcome is settled.
 */
async function runServer(
  setting: Setting,
  end: Moment | 'retry what is unknown and stop',
): Promise<{ wasReady: boolean }> {
  const { store, storeFolder, journal, workload, connections } = setting;
  const { requestsMax = Number.POSITIVE_INFINITY } = setting;
  let left = end === 'retry what is unknown and stop' ? Number.POSITIVE_INFINITY : end.count;
  let requests = 0;
  let over = false;
  const happened = (happening: Happening) => {
    if (over || typeof end === 'string') return;
    if (happening === 'request sent') requests += 1;
    if (happening === end.happening) left -= 1;
    if (left > 0 && requests < requestsMax) return;
    over = true;
    child.kill('SIGKILL');
  };
  const next = () =>
    over ? undefined : typeof end === 'string' ? workload.nextUnknown() : workload.next();

  const watcher = watch(storeFolder, () => happened('store touched'));
  const args = ['serve', '--port', '0', '--store', `sqlite:${store}`];
  const child = startProgram(args, { PLANT_STORE_TOKEN: token });
  const exit = once(child, 'exit').then(() => {
    over = true;
  });
  const alarm = setTimeout(() => child.kill('SIGABRT'), cycleMsMax);
  let errors = '';
  child.stdout.on('data', () => happened('printed'));
  const ready = new Promise<number>((resolve) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
      happened('printed');
      const port = /"url":"http:\/\/127\.0\.0\.1:([0-9]+)\/plants".*"ready"/.exec(errors)?.[1];
      if (port !== undefined) resolve(Number(port));
    });
  });

  const port = await Promise.race([ready, exit]);
  if (typeof port === 'number') {
    const client = { port, journal, workload, next, happened };
    await runConnections(client, connections, () => over || typeof end === 'string');
  }
  if (typeof end === 'string') child.kill('SIGTERM');
  await exit;
  clearTimeout(alarm);
  watcher.close();
  const { exitCode, signalCode } = child;
  const how = `the server has ended with ${exitCode} or ${signalCode}: ${errors}`;
  assert.equal(signalCode ?? exitCode, typeof end === 'string' ? 0 : 'SIGKILL', how);
  return { wasReady: typeof port === 'number' };
}

function checkInProcess(store: string, journal: string): CheckReport {
  const { stdout, stderr } = spawnSync(process.execPath, [checker, store, journal], {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  });
  assert(stdout.startsWith('{'), `the check has failed: ${stderr}`);
  return JSON.parse(stdout);
}

if (import.meta.main)
  await runAsCommand('kill', { cycles: 1_000, connections: 16, lives: 1 }, async (run) => {
    const checkEvery = 50 * run.lives;
    const { violations, ...found } = await killAgainAndAgain({ ...run, checkEvery });
    return { violations, summary: `${run.cycles} kills: ${JSON.stringify(found)}` };
  });
