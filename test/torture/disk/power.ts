import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type JournalEntry, keepJournal } from '../check-journal.ts';
import { countsOf, type Run, runAsCommand } from '../command.ts';
import { seededRandom } from '../workload.ts';
import { createDisk } from './disk.ts';
import { checkImage } from './image.ts';
import { type Recording, record, storeFolder } from './record.ts';
import { createRegime, type RegimeName, regimeNames } from './regimes.ts';
import { buildRecorder, type TraceEvent } from './trace.ts';

/*
 * Cuts the power of a loaded server, thousands of times. What the server does to its disk is
 * recorded, together with what it tells its clients. From that, the folder is rebuilt as a power
 * cut at some moment might have left it; a server is started on it, and all must be there that had
 * been acknowledged by then. A server that does not sync must be found out.
 */

const unsynced = fileURLToPath(new URL('./unsynced.ts', import.meta.url));

/** Images that are checked at a time, each with a server of its own. */
const checksAtOnce = 2;
/** Images after which a new recording is made. */
const imagesPerRecording = 500;

/**
 * Records, cuts and checks. The recording of the first violation stays in the folder, and the run
 * ends with it. The seed chooses the requests, the moments and what is left; the timing of a recorded
 * server cannot be repeated.
 */
async function cutPowerAgainAndAgain(
  options: Run & Readonly<Record<'images' | 'lives' | 'plants', number>>,
) {
  const { folder, images, seed, report, plants: plantsPerLife } = options;
  const library = buildRecorder(folder);
  const violations: string[] = [];
  const all: Cut[] = [];
  // Most are killed, since only then something is left that was written and not synced, for the next
  // life to read.
  const lives = Array.from({ length: options.lives }, (_, index) =>
    index % 5 === 1 ? 'SIGTERM' : 'SIGKILL',
  );

  const canaryLosses = await lossesOfCanary(emptyFolder(folder, 'canary'), library, seed);
  report(`${canaryLosses} losses of a server that does not sync were found`);
  if (canaryLosses === 0)
    violations.push('the losses of a server that does not sync were not found');

  for (let done = 0; done < images && violations.length === 0; done += imagesPerRecording) {
    const part = { folder: emptyFolder(folder, `recording-${seed + done}`), seed: seed + done };
    const recording = await record({ ...part, library, lives, plantsPerLife });
    const count = Math.min(imagesPerRecording, images - done);
    const cuts = planCuts(recording.events, count, part.seed);
    all.push(...cuts);
    violations.push(...(await checkCuts(recording, cuts, part.folder, report)));
    report(
      `${done + cuts.length} of ${images} images, ${recording.events.length} events, ${violations.length} violations`,
    );
    if (violations.length === 0) rmSync(part.folder, { recursive: true });
    else await keepJournal(part.folder, recording.entries);
  }
  const counts = {
    moments: countsOf(all.map(({ moment }) => moment)),
    regimes: countsOf(all.map(({ regime }) => regime)),
  };
  // The run is worth something only if all of this has happened in it.
  if (Object.keys({ ...counts.moments, ...counts.regimes }).length < 8 + regimeNames.length)
    violations.push('moments or regimes are missing');
  const summary = `${images} power cuts: ${JSON.stringify({ ...counts, canaryLosses })}`;
  return { violations, summary };
}

/**
 * Plants that a server has lost that does not sync, when the power is cut after its last
 * acknowledgement.
 */
async function lossesOfCanary(folder: string, library: string, seed: number): Promise<number> {
  const variables = { NODE_OPTIONS: `--import ${unsynced}` };
  const lives = ['SIGKILL'] as const;
  const recording = await record({ folder, library, seed, lives, plantsPerLife: 200, variables });
  const position = 1 + recording.events.findLastIndex(isAcknowledgement);
  const cut: Cut = { position, regime: 'nothing', seed, moment: 'acknowledgement' };
  const found = await checkCuts(recording, [cut], folder, () => {});
  rmSync(folder, { recursive: true });
  return found.filter((what) => what.includes('it was answered 200 and is not in the store'))
    .length;
}

/** A power cut after the first `position` events. */
interface Cut {
  readonly position: number;
  readonly regime: RegimeName;
  readonly seed: number;
  readonly moment: string;
}

/**
 * Kinds of moments at which a power cut might hurt, each with the events just before and just after
 * which it lies.
 */
const moments: Readonly<Record<string, (event: TraceEvent, place: Place) => boolean>> = {
  'first start': (_, { life, replies }) => life === 0 && replies === 0,
  restart: (_, { life, replies }) => life > 0 && replies === 0,
  // Answered from what an earlier life has written: was it synced?
  'replies before a sync': (_, { life, replies, syncs }) => life > 0 && replies > 0 && syncs === 0,
  sync: ({ what }) => what === 'sync' || what === 'synced',
  acknowledgement: isAcknowledgement,
  checkpoint: (event) => event.what === 'write' && event.path.endsWith('.db'),
  'log reset': (event) =>
    event.what === 'write' && event.path.endsWith('-wal') && event.number === 0,
  names: ({ what }) => /^(create|unlink|link|rename|truncate|end)$/.test(what),
  any: () => true,
};

/**
 * In which life of the server an event comes (from 0), and after how many replies and syncs of the
 * log in that life.
 */
interface Place {
  readonly life: number;
  readonly replies: number;
  readonly syncs: number;
}

function placesOf(events: readonly TraceEvent[]): Place[] {
  let place: Place = { life: 0, replies: 0, syncs: 0 };
  return events.map((event) => {
    const own = place;
    if (event.what === 'reply') place = { ...own, replies: own.replies + 1 };
    if (event.what === 'synced' && event.path.endsWith('-wal'))
      place = { ...own, syncs: own.syncs + 1 };
    if (event.what === 'end') place = { life: own.life + 1, replies: 0, syncs: 0 };
    return own;
  });
}

/** Each kind of moment meets each regime in turn. In ascending order of position. */
function planCuts(events: readonly TraceEvent[], count: number, seed: number): Cut[] {
  const random = seededRandom(seed);
  const places = placesOf(events);
  const kinds = Object.entries(moments).flatMap(([moment, isOne]) => {
    const at = places.flatMap((place, index) =>
      isOne(events[index] as TraceEvent, place) ? [index, index + 1] : [],
    );
    return at.length > 0 ? [{ moment, at }] : [];
  });
  const cuts = Array.from({ length: count }, (_, index): Cut => {
    const [round, kind] = [Math.floor(index / kinds.length), index % kinds.length];
    const { moment, at } = kinds[kind] ?? assert.fail('no moments');
    const regime = regimeNames[(round + kind) % regimeNames.length] ?? 'nothing';
    const position = at[Math.floor(random() * at.length)] ?? 0;
    return { moment, regime, position, seed: seed + index };
  });
  return cuts.sort((one, other) => one.position - other.position);
}

/**
 * Rebuilds and checks one image after the other. @returns what is wrong, with what it takes to
 * rebuild the image
 */
async function checkCuts(
  recording: Recording,
  cuts: readonly Cut[],
  folder: string,
  report: (line: string) => void,
): Promise<string[]> {
  const disk = createDisk();
  const violations: string[] = [];
  const acknowledgedAt = positionsOfReplies(recording);
  const running = new Set<Promise<void>>();
  let applied = 0;
  for (const cut of cuts) {
    for (const event of recording.events.slice(applied, cut.position)) disk.apply(event);
    applied = cut.position;
    const id = `${cut.position}:${cut.regime}:${cut.seed}`;
    const image = emptyFolder(folder, `image-${id.replaceAll(' ', '-')}`);
    const random = seededRandom(cut.seed);
    disk.writeImage(image, createRegime(cut.regime, disk.pending(), random));
    if (random() < 0.25) leaveIndex(image, random);
    const entries = recording.entries.map((entry) =>
      asKnownAt(cut.position, entry, acknowledgedAt),
    );
    const check = checkImage(image, entries, random).then((found) => {
      for (const what of found) violations.push(`image ${id} (${cut.moment}): ${what}`);
      if (found[0] === undefined) rmSync(image, { recursive: true });
      else
        report(`image ${id} (${cut.moment}): ${found.length} violations, the first: ${found[0]}`);
      running.delete(check);
    });
    running.add(check);
    if (running.size >= checksAtOnce) await Promise.race(running);
  }
  await Promise.all(running);
  return violations;
}

/** Where in the order of events each reply was sent, by request id. */
function positionsOfReplies({ events, entries }: Recording): Map<string, number> {
  const positions = new Map<string, number>();
  for (const [position, event] of events.entries()) {
    if (event.what !== 'reply') continue;
    for (const [, id = ''] of event.data.toString('latin1').matchAll(/^X-Request-Id: (\S+)\r$/gm))
      positions.set(id, position);
  }
  for (const entry of entries) {
    if ('status' in entry)
      assert(
        positions.has(entry.requestId ?? ''),
        `the recorder has missed a reply: ${JSON.stringify(entry)}`,
      );
  }
  return positions;
}

/**
 * What a client knows of a request when the power is cut: nothing, if the reply had not been sent.
 */
function asKnownAt(
  position: number,
  entry: JournalEntry,
  acknowledgedAt: ReadonlyMap<string, number>,
): JournalEntry {
  if (!('status' in entry)) return entry;
  const sentAt = acknowledgedAt.get(entry.requestId ?? '') ?? Number.POSITIVE_INFINITY;
  return sentAt < position ? entry : { n: entry.n, atMs: entry.atMs, lost: true };
}

function isAcknowledgement({ what, data }: TraceEvent): boolean {
  return what === 'reply' && data.toString('latin1', 0, 12) === 'HTTP/1.1 200';
}

/** The index of the log may be there in any state: SQLite does not sync it. */
function leaveIndex(image: string, random: () => number): void {
  const path = join(image, storeFolder, 'plants.db-shm');
  if (!existsSync(join(image, storeFolder))) return;
  writeFileSync(
    path,
    Buffer.from(Array.from({ length: 32_768 }, () => Math.floor(random() * 256))),
    { mode: 0o600 },
  );
}

function emptyFolder(above: string, name: string): string {
  const path = join(above, name);
  mkdirSync(path);
  return path;
}

await runAsCommand('power', { images: 1_000, lives: 15, plants: 1_000 }, cutPowerAgainAndAgain);
