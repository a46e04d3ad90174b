import { limits } from '../../limits.ts';
import { figuresOf } from '../../store/digest.ts';
import type { PlantFigures } from '../../store/inspection.ts';
import { locationName, type StoreLocation } from '../../store/location.ts';
import type { Store } from '../../store/store.ts';
import type { TokenRecord } from '../../store/tokens.ts';
import { openReader, openStore } from '../../stores.ts';
import {
  type CopyCounts,
  comparePlants,
  copyPlants,
  type IdSample,
  noneCopied,
} from '../../transfer/copy-plants.ts';
import { CommandError, type Terminal } from '../command.ts';
import { atInterruption } from '../terminal/interruption.ts';
import { startProgress } from '../terminal/progress.ts';

/** What a copy came to. `target` is what has been read back. */
export interface StoreCopy {
  readonly counts: CopyCounts;
  readonly tokens: number;
  readonly source: PlantFigures;
  readonly target: PlantFigures;
  /** What was copied in which time, as the end of a sentence. */
  readonly took: string;
}

export interface CopyChoices {
  /** Whether the target may be a database that may lose what it has committed. */
  readonly acceptsLostCommits: boolean;
  /** How long the target is asked again when it takes nothing. */
  readonly waitMs: number;
  /** Told when there was no target, and this has made one. */
  onNewTarget(location: StoreLocation): void;
  /**
   * Whether the target outlives an interruption, after which the same command goes on where it was.
   */
  readonly canGoOn: boolean;
}

/**
 * Copies the tokens and plants that `from` holds at one moment into `to`, which is made if it is
 * not there, and reads the plants there back.
 *
 * @throws CommandError if the tokens cannot be copied: then nothing is; StoreOpenError, StoreError:
 * it is safe to run again
 */
export async function makeStoreCopy(
  from: StoreLocation,
  to: StoreLocation,
  { acceptsLostCommits, waitMs, canGoOn, onNewTarget }: CopyChoices,
  terminal: Terminal,
): Promise<StoreCopy> {
  const counts = noneCopied();
  using _ = canGoOn
    ? atInterruption(terminal, (signal) => terminal.note(stoppedText(signal, counts), 'bad'))
    : undefined;
  await using reader = await openReader(from, limits.cli.readMs);
  await using snapshot = await reader.openSnapshot();
  // After the moment of the snapshot, so that no token is missing that one of its plants came with.
  const tokens = await reader.listTokens();
  await using store = await openStore(to, limits.cli.lockMs, acceptsLostCommits);
  if (store.isNew) onNewTarget(to);
  const tokenIds = await copyTokens(tokens, store);

  const plants = await snapshot.countPlants();
  const progress = startProgress(terminal, () => performance.now());
  const source = await copyPlants(snapshot, store, counts, {
    tokenIds,
    onProgress: (seen) => progress.show({ plants: seen, share: seen / plants }),
    waitMs,
    onWait: (why) =>
      terminal.note(`${store.location} takes nothing at the moment (${why}); trying again.`),
  });
  const took = progress.finish(counts.created);
  return { counts, tokens: tokens.length, source, target: await readBack(store, terminal), took };
}

function stoppedText(signal: string, { created, same }: CopyCounts): string {
  const done = `${created} plants were copied until then, and ${same} were there already`;
  return `plant-store: ${signal} has stopped the copy before its end; ${done}; run it again to go on`;
}

async function copyTokens(
  tokens: readonly TokenRecord[],
  store: Store,
): Promise<ReadonlyMap<number, number>> {
  const copied = await store.copyTokens(tokens, limits.access.liveTokensMax, Date.now());
  if ('ids' in copied) return copied.ids;
  if ('tooMany' in copied) {
    throw new CommandError(
      `${store.location} would have ${copied.tooMany} tokens that are valid, and can have ${limits.access.liveTokensMax}; revoke some with "plant-store token revoke"`,
    );
  }
  throw new CommandError(
    `each of the two stores has a token of its own that is named ${copied.nameTaken}; revoke one of them: "plant-store token revoke ${copied.nameTaken} --store ${store.location}"`,
  );
}

async function readBack(store: Store, terminal: Terminal): Promise<PlantFigures> {
  await using snapshot = await store.openSnapshot();
  const figures = await figuresOf(snapshot, (plants) =>
    terminal.showProgress(`reading back: ${plants} plants`),
  );
  terminal.showProgress('');
  // What others have written can be seen in a database before its standbys have it. This write
  // waits for them, and so for all before it.
  await store.beat(Date.now());
  return figures;
}

/** @returns in what the stores differ, as a sentence; undefined if they hold the same plants */
export function differencesOf({ counts, source, target }: StoreCopy): string | undefined {
  const { taken, extra } = counts;
  const known = [
    ...(taken.count > 0
      ? [
          `${taken.count} ids belong to other plants there (${idsOf(taken)}), which are as they were`,
        ]
      : []),
    ...(extra.count > 0 ? [`${extra.count} plants are only there (${idsOf(extra)})`] : []),
  ];
  if (known.length > 0)
    return `all else is copied, but the target does not hold the same: ${known.join(', and ')}`;
  if (source.digest === target.digest) return undefined;
  return `what the target holds now is not what was copied: ${target.plants} plants with the digest ${target.digest}, where the source has ${source.plants} with ${source.digest}; if something else writes to it, stop that and copy again`;
}

/** Tells the operator that a store has been made. */
export function noteNewStore(location: StoreLocation, terminal: Terminal): void {
  terminal.note(`There was no store at ${locationName(location)}: a new one has been made.`);
}

/**
 * @throws CommandError if `to` holds plants that `from` does not have. It is made if it is not
 * there.
 */
export async function refuseOtherPlants(
  from: StoreLocation,
  to: StoreLocation,
  { onNewTarget }: CopyChoices,
): Promise<void> {
  await using store = await openStore(to, limits.cli.lockMs);
  if (store.isNew) onNewTarget(to);
  if ((await store.countPlantsAfter(undefined, 1)).plants === 0) return;
  await using reader = await openReader(from, limits.cli.readMs);
  await using snapshot = await reader.openSnapshot();
  const { taken, extra } = await comparePlants(snapshot, store);
  if (taken.count + extra.count === 0) return;
  const [others] = [extra, taken].filter(({ count }) => count > 0);
  throw new CommandError(
    `the store at ${store.location} holds other plants (${others && idsOf(others)}) already, and nothing is overwritten; name another database`,
  );
}

function idsOf({ count, ids }: IdSample): string {
  return `${ids.join(', ')}${count > ids.length ? ', …' : ''}`;
}
