import type { Retention } from '../cli/flags/values.ts';
import { limits } from '../limits.ts';
import type { PlantCount } from '../ops/metrics/plant-count.ts';
import type { StoreIdentity } from '../store/tables/identity.ts';
import { holdingKey, type Manifest } from './manifest.ts';
import { type BackupInSeries, unkept } from './series.ts';

/*
 * Which backups are of one store, and which of them hold the plants of which others. No operation
 * removes a plant, so a store without the plants of an earlier backup of it has lost plants.
 */

/** A store, as its backups know it. */
export interface Origin extends Partial<StoreIdentity> {
  /** The first part of the names of its backups. */
  readonly name: string;
  /** Tells the store from others that back up into one folder: host and path, or its URL. */
  readonly place: string;
}

/**
 * The backups of a store. What was one store by identity or by place belongs together: a store that
 * was lost and made again has another identity, and one that has moved has another place.
 *
 * @param all oldest first, as is the result
 */
export function backupsOf(
  { name, identity, place }: Pick<Origin, 'name' | 'place'> & { identity?: string | undefined },
  all: readonly BackupInSeries[],
): BackupInSeries[] {
  const known = new Set([nameMark(name), place, identity]);
  const isKnown = (backup: BackupInSeries) => marksOf(backup).some((mark) => known.has(mark));
  for (let before = 0; before !== known.size; ) {
    before = known.size;
    for (const mark of all.filter(isKnown).flatMap(marksOf)) known.add(mark);
  }
  return all.filter(isKnown);
}

/** Manifests of version 2.0 and earlier, and damaged ones, count by the names of their files. */
function marksOf({ store, manifest }: Pick<BackupInSeries, 'store' | 'manifest'>): string[] {
  const { identity, place } = manifest ?? {};
  if (place === undefined) return [nameMark(store)];
  return identity === undefined ? [place] : [place, identity];
}

/** A place has no space at its start. */
function nameMark(store: string): string {
  return ` ${store}`;
}

/** Which backups of a series hold which others, as their manifests tell, transitively. */
export function holdingsIn(series: readonly BackupInSeries[]) {
  const listed = new Map<string, string[]>();
  for (const { manifest } of series) {
    if (manifest === undefined) continue;
    const key = holdingKey(manifest);
    listed.set(key, [...(listed.get(key) ?? []), ...(manifest.holds ?? [])]);
  }
  const known = new Map<string, ReadonlySet<string>>();

  /** The keys of all that the plants of a key hold, with the key itself. */
  function heldBy(key: string): ReadonlySet<string> {
    const before = known.get(key);
    if (before !== undefined) return before;
    const held = new Set([key]);
    // A set can grow while it is read.
    for (const one of held) for (const further of listed.get(one) ?? []) held.add(further);
    known.set(key, held);
    return held;
  }

  return {
    heldBy,
    /** A damaged manifest holds nothing, and is held by nothing. */
    holds: (one: BackupInSeries, other: BackupInSeries): boolean =>
      one.manifest !== undefined &&
      other.manifest !== undefined &&
      heldBy(holdingKey(one.manifest)).has(holdingKey(other.manifest)),
  };
}

/** What the reading of a backup and a copy of the store has found. */
export type Holding = 'held' | 'lacking' | 'damaged';

interface Compared {
  /** Of the backups that a store holds, by `holdingKey`. */
  readonly held: ReadonlySet<string>;
  /** Names of the backups with plants that the store lacks. */
  readonly lacks: readonly string[];
}

/**
 * Finds out which backups a copy of a store holds. Few are read: what is known of one tells of
 * those that it holds, or that hold it.
 *
 * @param series oldest first
 * @param compare reads a backup and the copy
 * @param known undefined: at least one backup is read, the newest that is not damaged
 */
export async function compareWithSeries(
  copy: Pick<Manifest, 'digest' | 'plants'>,
  series: readonly BackupInSeries[],
  compare: (backup: BackupInSeries) => Promise<Holding>,
  known?: Compared,
): Promise<Compared> {
  const { heldBy, holds } = holdingsIn(series);
  const held = new Set(known?.held);
  const lacking = new Set(series.filter(({ file }) => known?.lacks.includes(file)));
  const damaged = new Set<BackupInSeries>();
  const isKnown = (backup: BackupInSeries) =>
    isHeld(backup, held) || lacking.has(backup) || damaged.has(backup);
  let hasRead = known !== undefined;
  for (;;) {
    const unknown = series.filter((backup) => !isKnown(backup)).reverse();
    const next = unknown[hasRead ? Math.floor(unknown.length / 2) : 0];
    if (next === undefined) break;
    const { manifest } = next;
    const found = manifest
      ? (hasRead && withoutReading(copy, manifest)) || (await compare(next))
      : 'damaged';
    if (manifest === undefined || found === 'damaged') {
      damaged.add(next);
      continue;
    }
    hasRead = true;
    if (found === 'held') for (const key of heldBy(holdingKey(manifest))) held.add(key);
    // What holds a backup with missing plants has missing plants, too.
    else for (const backup of unknown) if (holds(backup, next)) lacking.add(backup);
  }
  return { held, lacks: series.filter((backup) => lacking.has(backup)).map(({ file }) => file) };
}

function isHeld({ manifest }: BackupInSeries, held: ReadonlySet<string>): boolean {
  return manifest !== undefined && held.has(holdingKey(manifest));
}

/** What a manifest says of earlier backups. @param series oldest first */
export function listHoldings(
  { held, lacks }: Compared,
  series: readonly BackupInSeries[],
): Required<Pick<Manifest, 'holds' | 'lacks'>> {
  const { listedMax } = limits.backup;
  const keys = series.flatMap(({ manifest }) => (manifest ? [holdingKey(manifest)] : []));
  const isListed = (key: string) => held.has(key);
  return {
    holds: [...new Set(keys.reverse())].filter(isListed).slice(0, listedMax),
    lacks: lacks.slice(-listedMax),
  };
}

function withoutReading(
  copy: Pick<Manifest, 'digest' | 'plants'>,
  manifest: Manifest,
): Holding | undefined {
  if (manifest.digest === copy.digest || manifest.plants === 0) return 'held';
  return manifest.plants > copy.plants ? 'lacking' : undefined;
}

/**
 * What the last decision of an operator gives up: all backups but those that the restored one
 * holds. What the store lacks of those was lost after the restore.
 */
function givenUpBy({ restored }: Origin, series: readonly BackupInSeries[]): readonly string[] {
  const key = restored === undefined ? undefined : holdingKey({ digest: restored });
  const held = key === undefined ? new Set<string>() : holdingsIn(series).heldBy(key);
  return series.filter((backup) => !isHeld(backup, held)).map(({ file }) => file);
}

/** Whether no backup has noted the last decision of the store yet. */
export function hasNewDecision(origin: Origin, series: readonly BackupInSeries[]): boolean {
  if (origin.decidedAtMs === undefined) return false;
  const decidedAt = new Date(origin.decidedAtMs).toISOString();
  return !series.some(
    ({ manifest }) => manifest?.decidedAt === decidedAt && isOwn(manifest, origin),
  );
}

/** Whether a backup is of this store, and of no clone or earlier store. */
export function isOwn(manifest: Manifest | undefined, { identity, place }: Origin): boolean {
  return manifest?.identity === identity && manifest?.place === place;
}

/** The names of the backups whose plants are given up. */
export function givenUpIn(series: readonly BackupInSeries[], origin: Origin): readonly string[] {
  if (hasNewDecision(origin, series)) return givenUpBy(origin, series);
  return lastOf(origin, series)?.givenUp ?? [];
}

/**
 * The newest backup with plants that the store has lost, as far as the manifests and a count tell.
 *
 * @param series of the store, oldest first
 */
export function lossIn(
  series: readonly BackupInSeries[],
  origin: Origin,
  count: PlantCount | undefined,
): BackupInSeries | undefined {
  // What the last backup lacks is not what a store lacks that was restored since.
  const last = hasNewDecision(origin, series) ? undefined : lastOf(origin, series);
  const fuller = series
    .filter(({ manifest }) => manifest && count && hasMore(manifest, count))
    .map(({ file }) => file);
  const lacks = [...(last?.lacks ?? []), ...fuller];
  return lostOf(lacks, givenUpIn(series, origin), origin, series).at(-1);
}

/** A count that began before the backup was there may lack plants that came meanwhile. */
function hasMore(
  { plants, createdAt, checkedAt = createdAt }: Manifest,
  count: PlantCount,
): boolean {
  return plants > count.counted && Date.parse(checkedAt) < count.beganAtMs;
}

function lastOf(origin: Origin, series: readonly BackupInSeries[]): Manifest | undefined {
  return series.findLast(({ manifest }) => isOwn(manifest, origin))?.manifest;
}

/**
 * Which of the backups that a store lacks tell of a loss: those of its place. A backup of another
 * place is one of a clone, or of a store that the plants were copied to.
 */
export function lostOf(
  lacks: readonly string[],
  givenUp: readonly string[],
  { place }: Pick<Origin, 'place'>,
  series: readonly BackupInSeries[],
): BackupInSeries[] {
  return series.filter(
    ({ file, manifest }) =>
      manifest !== undefined &&
      (manifest.place ?? place) === place &&
      lacks.includes(file) &&
      !givenUp.includes(file),
  );
}

/**
 * The backups to remove: no rule keeps them, and a newer one that stays holds their plants. The rules
 * keep backups of each store and place for themselves, so no clone takes the place of one.
 *
 * @param series oldest first
 * @returns the oldest first, each with the newest backup that holds it
 */
export function removable(
  series: readonly BackupInSeries[],
  rules: Retention,
): { readonly backup: BackupInSeries; readonly heldBy: BackupInSeries }[] {
  const places = Map.groupBy(series, (backup) => marksOf(backup).join(' '));
  const newestMs = series.at(-1)?.seriesMs ?? 0;
  const unneeded = [...places.values()].flatMap((backups) => unkept(backups, rules, newestMs));
  const { holds } = holdingsIn(series);
  const chosen: { backup: BackupInSeries; heldBy: BackupInSeries }[] = [];
  const staying: BackupInSeries[] = [];
  for (const backup of series.toReversed()) {
    const heldBy = unneeded.includes(backup)
      ? staying.find((newer) => holds(newer, backup))
      : undefined;
    if (heldBy === undefined) staying.push(backup);
    else chosen.push({ backup, heldBy });
  }
  return chosen.reverse();
}

/** The backups that no later one holds: each has plants that all later ones lack. */
export function fullest(series: readonly BackupInSeries[]): BackupInSeries[] {
  const { holds } = holdingsIn(series);
  return series.filter(
    (backup, index) => !series.slice(index + 1).some((later) => holds(later, backup)),
  );
}

/** The backups of each store in a folder. @param all oldest first */
export function storesIn(all: readonly BackupInSeries[]): BackupInSeries[][] {
  const stores: BackupInSeries[][] = [];
  const isOld = ({ manifest }: BackupInSeries) => manifest?.place === undefined;
  for (const backup of [...all.filter((one) => !isOld(one)), ...all.filter(isOld)]) {
    if (stores.some((series) => series.includes(backup))) continue;
    const { identity, place = '' } = backup.manifest ?? {};
    stores.push(backupsOf({ name: backup.store, identity, place }, all));
  }
  return stores;
}
