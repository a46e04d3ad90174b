import { mkdirSync, rmSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { JournalEntry } from '../check-journal.ts';
import type { Journal } from '../client.ts';
import { countsOf, type Run, runAsCommand } from '../command.ts';
import { seededRandom } from '../workload.ts';
import { createDisk } from './disk.ts';
import { checkImage } from './image.ts';
import { type Lead, liveUnderLoad, storeFolder } from './record.ts';
import { createRegime } from './regimes.ts';
import { buildRecorder, type TraceEvent } from './trace.ts';

/*
 * Lets one call of a loaded server fail: its Nth write, or its Nth sync. After a failed sync the
 * disk does not have what was pending in the file, and never will, though programs still see it. A
 * server is then started on what the disk has.
 */

/**
 * What fails, as the recorder names it, and up to which N that is tried: what a checkpoint does
 * comes seldom.
 */
const faultKinds = {
  write: { code: 'w', nthMax: 200 },
  'checkpoint write': { code: 'W', nthMax: 20 },
  sync: { code: 's', nthMax: 200 },
  'checkpoint sync': { code: 'S', nthMax: 6 },
} as const;

interface Fault {
  readonly kind: keyof typeof faultKinds;
  readonly error: 'EIO' | 'ENOSPC';
  /** The first such call after the first plant was acknowledged is 1. */
  readonly nth: number;
}

const connections = 8;
/**
 * Requests after which a server that shows nothing of a fault is killed. A checkpoint comes after
 * 1,000 pages of log.
 */
const requestsMax = ({ kind, nth }: Fault) =>
  kind === 'checkpoint write' ? 6_000 : kind === 'checkpoint sync' ? 6_000 * nth : 500 + 30 * nth;
/** Plants that must be acknowledged after a failure that passes, and must not after another. */
const plantsAfterwards = 50;

/**
 * Runs a server with that fault in a folder that is empty.
 *
 * @returns `hit` is the file of the call that failed; undefined if there were fewer calls
 */
async function runWithFault(fault: Fault, folder: string, library: string, seed: number) {
  const entries: Journal = [];
  const model = createDisk();
  const ended = await load(fault, { folder, library, seed, entries, model, connections });
  const image = join(folder, 'image');
  mkdirSync(image);
  const random = seededRandom(seed);
  model.writeImage(image, createRegime('everything', model.pending(), random));

  const outcomes = outcomesOf(entries);
  const broken = [
    ...(await checkImage(image, entries, random)),
    ...brokenDemands(fault, outcomes, ended),
  ];
  const hit = hitBy(ended.events);
  const violations = broken.map((what) => `${nameOf(fault)} on ${hit}: ${what}`);
  return { hit, violations, end: ended.end, outcomes: countsOf(outcomes) };
}

interface Ended {
  readonly end: string;
  /** Plants that were acknowledged after the first 503. */
  readonly acknowledgedAfterwards: number;
  readonly events: readonly TraceEvent[];
}

/**
 * Loads a server until it has ended by itself, or has gone on after a 503 and is stopped, or has
 * shown nothing and is killed.
 */
async function load(fault: Fault, life: Parameters<typeof liveUnderLoad>[0]): Promise<Ended> {
  await using stack = new AsyncDisposableStack();
  let requestsLeft = requestsMax(fault);
  let hasFailed = false;
  let acknowledgedAfterwards = 0;
  let stopping: Promise<unknown> | undefined;
  const lead: Lead = (server, workload) => {
    // Every other time, the transaction of another program holds the WAL.
    const store = join(life.folder, 'disk', storeFolder, 'plants.db');
    const reader = stack.use(new DatabaseSync(store, { readOnly: true }));
    if (fault.nth % 2 === 0) reader.exec('BEGIN; SELECT count(*) FROM plants');
    return {
      settled(status) {
        if (status === 503) hasFailed = true;
        if (status === 200 && hasFailed) acknowledgedAfterwards += 1;
        if (acknowledgedAfterwards >= plantsAfterwards && !mustStop(fault))
          stopping ??= server.stop('SIGTERM');
      },
      next() {
        requestsLeft -= 1;
        if (requestsLeft === 0) stopping ??= server.stop('SIGKILL');
        return stopping ? undefined : workload.next();
      },
    };
  };
  const injected = `${faultKinds[fault.kind].code} ${constants.errno[fault.error]} ${fault.nth}`;
  const variables = { RECORDER_FAULT: injected };
  const { child, events } = await liveUnderLoad({ ...life, variables }, lead);
  const how = stopping === undefined ? 'by itself' : 'when it was told to';
  const end = child.signalCode ?? `${child.exitCode} ${how}`;
  return { end, acknowledgedAfterwards, events };
}

/** After any error but a full disk, the content of the store is uncertain until the next start. */
function mustStop({ kind, error }: Fault): boolean {
  return kind.endsWith('sync') || error === 'EIO';
}

/** What README and docs promise of a store that fails. */
function brokenDemands(fault: Fault, outcomes: readonly string[], ended: Ended): string[] {
  const { events } = ended;
  const hit = hitBy(events);
  if (hit === undefined) return ['the fault has not come'];
  const unexpected = new Set(
    outcomes.filter((outcome) => !/^(200|400 40004|503 50301|503 50302|lost)$/.test(outcome)),
  );
  const broken = [...unexpected].map(
    (outcome) => `a request for a valid plant was answered with ${outcome}`,
  );
  const hasRefused = outcomes.some((outcome) => outcome === '503 50301');
  if (mustStop(fault)) {
    // Some requests under way may be refused a little later than the first.
    if (ended.acknowledgedAfterwards >= plantsAfterwards)
      broken.push(`${ended.acknowledgedAfterwards} plants were acknowledged afterwards`);
    if (ended.end !== '1 by itself')
      broken.push(`it should have stopped by itself with 1, and ended: ${ended.end}`);
    if (!hasRefused) broken.push('no request got a 503 with 50301');
    const since = changesAfterFault(events);
    if (since.length > 0) broken.push(`it went on to change the store: ${since}`);
    return broken;
  }
  // A checkpoint on a full disk fails no create: its pages stay in the WAL.
  if (hit.endsWith('.db') && !hasRefused) return broken;
  if (!hasRefused) broken.push('no request got a 503 with 50301');
  if (ended.end !== '0 when it was told to')
    broken.push(`it should have gone on, and ended: ${ended.end}`);
  if (ended.acknowledgedAfterwards < plantsAfterwards)
    broken.push(`only ${ended.acknowledgedAfterwards} plants were acknowledged afterwards`);
  return broken;
}

/**
 * What was done to the files of the store after the failure. A second sync might succeed, with the
 * data of the first one lost. A transaction beside a failed checkpoint still ends, and a checkpoint
 * beside a failed transaction: each syncs its own file last, and sees the failure the next time.
 * Transactions see the failure of a checkpoint when its thread has left the note of it.
 */
function changesAfterFault(events: readonly TraceEvent[]): string[] {
  const after = events.slice(events.findIndex(({ what }) => what === 'fault') + 1);
  const isWalHit = hitBy(events)?.endsWith('-wal');
  let isSeen = isWalHit;
  let endingBeside = 2;
  return after.flatMap((event) => {
    const isChange =
      event.what === 'write' ||
      event.what === 'truncate' ||
      event.what === 'synced' ||
      event.what === 'unlink';
    if (!isChange) return [];
    if (event.path === 'store/plants.db-sync') isSeen = true;
    if (!/^store\/plants\.db(-wal)?$/.test(event.path)) return [];
    const isBeside = endingBeside > 0 && event.path.endsWith('-wal') !== isWalHit;
    if (isBeside && isSeen && event.what === 'synced') endingBeside -= 1;
    return isBeside ? [] : [`${event.what} ${event.path}`];
  });
}

function hitBy(events: readonly TraceEvent[]): string | undefined {
  return events.flatMap((event) => (event.what === 'fault' ? [event.path] : []))[0];
}

/** Of each request for a valid plant: the status and, of an error, its code; or `lost`. */
function outcomesOf(entries: readonly JournalEntry[]): string[] {
  const storable = new Set(
    entries.flatMap((entry) => ('sent' in entry && entry.storable ? [entry.n] : [])),
  );
  return entries.flatMap((entry) => {
    if ('sent' in entry || !storable.has(entry.n)) return [];
    if ('lost' in entry) return ['lost'];
    return [entry.status === 200 ? '200' : `${entry.status} ${JSON.parse(entry.body).error}`];
  });
}

/** All faults, up to the Nth of each kind. */
function faultsUpTo(nth: number): Fault[] {
  const kinds = Object.entries(faultKinds) as [Fault['kind'], { nthMax: number }][];
  return kinds.flatMap(([kind, { nthMax }]) =>
    (['EIO', 'ENOSPC'] as const).flatMap((error) =>
      Array.from({ length: Math.min(nth, nthMax) }, (_, index) => ({
        kind,
        error,
        nth: 1 + index,
      })),
    ),
  );
}

function nameOf({ kind, error, nth }: Fault): string {
  return `${kind.replace(' ', '-')}:${error}:${nth}`;
}

/** Runs all of them, two at a time. The folders of those that break a demand stay. */
async function runFaults(
  faults: readonly Fault[],
  { folder, seed, report }: Pick<Run, 'folder' | 'seed' | 'report'>,
): Promise<string[]> {
  const library = buildRecorder(folder);
  const left = [...faults];
  const violations: string[] = [];
  const lane = async () => {
    for (let fault = left.shift(); fault; fault = left.shift()) {
      const name = nameOf(fault);
      const own = join(folder, name);
      mkdirSync(own);
      const done = await runWithFault(fault, own, library, seed + fault.nth);
      violations.push(...done.violations);
      if (done.violations.length === 0) rmSync(own, { recursive: true });
      report(`${name} on ${done.hit}: ended ${done.end}, ${JSON.stringify(done.outcomes)}`);
    }
  };
  await Promise.all([lane(), lane()]);
  return violations;
}

await runAsCommand('faults', { 'up-to': 200 }, async (run) => {
  const faults = faultsUpTo(run['up-to']);
  return { violations: await runFaults(faults, run), summary: `${faults.length} faults` };
});
