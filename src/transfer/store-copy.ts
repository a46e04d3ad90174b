import { CommandError, type Terminal } from '../cli/command.ts';
import { atInterruption } from '../cli/terminal/interruption.ts';
import { tookText } from '../cli/terminal/progress.ts';
import { limits } from '../limits.ts';
import { numberText, plantsText } from '../quantity-text.ts';
import { shellQuoted } from '../store/command-text.ts';
import { engineOf } from '../store/engines.ts';
import { figuresOf, type PlantFigures } from '../store/inspection.ts';
import type { StoreLocation } from '../store/location.ts';
import type { PlantSnapshot } from '../store/plants.ts';
import type { Store } from '../store/store.ts';
import type { TokenRecord } from '../store/tables/tokens.ts';
import { comparePlants, copyPlants, type IdSample, noneCopied } from './copy-plants.ts';

type StoreCopy = Awaited<ReturnType<typeof makeStoreCopy>>;

interface CopyChoices {
  readonly acceptsLostCommits: boolean;
  /**
   * Whether the command checks the target itself, and removes the target when it fails. Otherwise
   * the plants are read back, the operator is told of a new target, an unavailable target is
   * retried, and a repeated command resumes the copy.
   */
  readonly isForBackup: boolean;
}

/**
 * Copies the tokens and plants of one moment. Makes a missing target. Safe to repeat.
 *
 * @throws CommandError if the tokens do not fit, before a plant; StoreOpenError, StoreError
 */
export async function makeStoreCopy(
  from: StoreLocation,
  to: StoreLocation,
  { acceptsLostCommits, isForBackup }: CopyChoices,
  terminal: Terminal,
) {
  const counts = noneCopied();
  using _ = isForBackup
    ? undefined
    : atInterruption(terminal, 'the copy', () => {
        const done = `${plantsText(counts.created)} copied until then`;
        return `${done}, and ${numberText(counts.same)} existed already; run it again to go on`;
      });
  await using reader = await engineOf(from).openReader(limits.cli.readMs);
  await using snapshot = await reader.openSnapshot();
  // After the snapshot, so that the token of each plant is among them.
  const tokens = await reader.listTokens();
  const { isThere, setRemnantsAside, open } = engineOf(to);
  if (!isForBackup && !(await isThere())) setRemnantsAside();
  const callMs = limits.cli.lockMs;
  await using store = await open({ callMs, mayMake: true, acceptsLostCommits });
  if (store.isNew && !isForBackup) noteNewStore(to, terminal);
  for (const says of await store.testWrite()) terminal.note(says, 'warning');
  const identity = (await reader.identity())?.identity;
  if (identity !== undefined && !(await hasPlants(store))) await store.takeIdentity(identity);
  const tokenIds = await copyTokens(tokens, store, to);

  const { plants: known, ms: sinceMs } = isForBackup ? none : await knownPlants(snapshot, store);
  const plants = (await snapshot.countPlants()) - known;
  const startedMs = performance.now();
  const source = await copyPlants(snapshot, store, counts, {
    tokenIds,
    sinceMs,
    onProgress: (done) => terminal.showProgress('copying', { done, total: plants, unit: 'plants' }),
    waitMs: isForBackup ? 0 : limits.transfer.importWaitMs,
    onWait: (why) => terminal.note(`${store.url} takes no plants (${why}); retrying.`),
  });
  terminal.showProgress('');
  const took = tookText(counts.created, startedMs);
  return {
    counts,
    known,
    tokens: tokens.length,
    source,
    target: isForBackup ? source : await readBack(store, plants, sinceMs, terminal),
    took,
  };
}

async function hasPlants(store: Store): Promise<boolean> {
  return (await store.countMatches({ budgetMs: 0 })).plants > 0;
}

async function copyTokens(
  tokens: readonly TokenRecord[],
  store: Store,
  location: StoreLocation,
): Promise<ReadonlyMap<number, number>> {
  const copied = await store.copyTokens(tokens, limits.access.liveTokensMax, Date.now());
  if ('ids' in copied) return copied.ids;
  if ('tooMany' in copied) {
    const wayOut = `revoke some with ${engineOf(location).command('token revoke NAME')}`;
    const [many, most] = [copied.tooMany, limits.access.liveTokensMax].map((n) => numberText(n));
    const tooMany = `would have ${many} valid tokens, and may have ${most}`;
    throw new CommandError(`${store.url} ${tooMany}; ${wayOut}`);
  }
  throw new CommandError(
    `the stores have different tokens with the name ${copied.nameTaken}; revoke one of ` +
      `them: ${engineOf(location).command(`token revoke ${shellQuoted(copied.nameTaken)}`)}`,
  );
}

/**
 * The plants that the copy before has brought. Some time before the newest of them, both stores
 * hold the same, unless that copy was interrupted, a commit or a clock was late, or others have
 * brought plants of earlier times. Then the sums differ, and all plants are compared.
 */
async function knownPlants(source: PlantSnapshot, store: Store): Promise<typeof none> {
  await using target = await store.openSnapshot();
  // A plant of a clock that was far ahead is no measure.
  const newestMs = await target.newestBefore(Date.now() + limits.store.clocksApartMs);
  if (newestMs === undefined) return none;
  const ms = newestMs - limits.transfer.copyOverlapMs;
  const [there, here] = await Promise.all([target.sumsBefore(ms), source.sumsBefore(ms)]);
  const { plants, sums } = there;
  if (plants < limits.transfer.copyKnownMin || plants !== here.plants) return none;
  return sums === here.sums ? { plants, ms } : none;
}

const none: { readonly plants: number; readonly ms?: number } = { plants: 0 };

async function readBack(
  store: Store,
  total: number,
  sinceMs: number | undefined,
  terminal: Terminal,
): Promise<PlantFigures> {
  await using snapshot = await store.openSnapshot();
  const figures = await figuresOf(snapshot.pages(sinceMs), (done) =>
    terminal.showProgress('reading back', { done, total, unit: 'plants' }),
  );
  terminal.showProgress('');
  // Plants can be read from a database before its standbys have them. This write waits for the
  // standbys, and so for all writes before it.
  await store.beat(Date.now());
  return figures;
}

/** @throws CommandError with the difference of the stores, unless both hold the same plants */
export function demandSame({ counts, source, target }: StoreCopy): void {
  const { taken, extra } = counts;
  const known: string[] = [];
  if (taken.count > 0)
    known.push(
      `${numberText(taken.count)} ids belong to different plants in the target ` +
        `(${idsOf(taken)}), which were not changed`,
    );
  if (extra.count > 0)
    known.push(`the target alone has ${plantsText(extra.count)} (${idsOf(extra)})`);
  if (known.length > 0)
    throw new CommandError(
      `all other plants are copied, but the stores differ: ${known.join(', and ')}`,
    );
  if (source.digest === target.digest) return;
  throw new CommandError(
    `the target has changed during the copy: it holds ${plantsText(target.plants)} with ` +
      `the digest ${target.digest}, and the source ${plantsText(source.plants)} with ` +
      `${source.digest}; stop all services on the target, and copy again`,
  );
}

export function noteNewStore(location: StoreLocation, terminal: Terminal): void {
  terminal.note(`There was no store at ${engineOf(location).name}; a new store has been made.`);
}

/** Makes `to` if it does not exist. @throws CommandError if `to` has plants that `from` lacks */
export async function refuseOtherPlants(
  from: StoreLocation,
  to: StoreLocation,
  acceptsLostCommits: boolean,
  terminal: Terminal,
): Promise<void> {
  const callMs = limits.cli.lockMs;
  await using store = await engineOf(to).open({ callMs, mayMake: true, acceptsLostCommits });
  if (store.isNew) noteNewStore(to, terminal);
  if (!(await hasPlants(store))) return;
  await using reader = await engineOf(from).openReader(limits.cli.readMs);
  await using snapshot = await reader.openSnapshot();
  const { taken, extra } = await comparePlants(snapshot, store);
  if (taken.count + extra.count === 0) return;
  const [others] = [extra, taken].filter(({ count }) => count > 0);
  throw new CommandError(
    `the store at ${store.url} holds other plants (${others && idsOf(others)}), which ` +
      'are never overwritten; name another database',
  );
}

export function idsOf({ count, ids }: IdSample): string {
  return `${ids.join(', ')}${count > ids.length ? ', …' : ''}`;
}
