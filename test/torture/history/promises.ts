import assert from 'node:assert/strict';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Load, Seen } from './load.ts';

/** What is promised of nodes whose database fails. */
const answeredWithinMs = 5_000;
const inServiceWithinMs = 10_000;

/** A machine that holds this process up for so long holds up nodes and databases, too. */
const heldUpMs = 500;

/**
 * What clients have seen before a fault, from its beginning until the nodes were in service again,
 * and after that.
 */
export interface Account {
  readonly before: Seen;
  readonly during: Seen;
  readonly after: Seen;
  /** From the end of the fault until the nodes were in service. */
  readonly recoveryMs: number;
  /** The machine was too busy for a judgement of times, and of creates that were given up. */
  readonly isHeldUp: boolean;
}

/**
 * @param fault resolves when the database is back
 * @param repliesInRow that each client must get without a 503 before the nodes count as in service
 */
export async function accountOf(
  load: Load,
  fault: () => Promise<void>,
  repliesInRow = 100,
): Promise<Account> {
  const delay = monitorEventLoopDelay();
  delay.enable();
  await load.acknowledged(10);
  const before = load.seen();
  await fault();
  const backAtMs = performance.now();
  const recoveryMs = (await load.inService(repliesInRow)) - backAtMs;
  const during = load.seen();
  await load.acknowledged(10);
  delay.disable();
  const isHeldUp = delay.max > heldUpMs * 1e6;
  return { before, during, after: load.seen(), recoveryMs, isHeldUp };
}

/** Clients get documented replies alone, and plants are created before and after. */
export function assertDocumented(account: Account): void {
  const { before, during, after } = account;
  const said = JSON.stringify(account);
  assert(before.statuses[200] && after.statuses[200], said);
  const statuses = Object.keys({ ...before.statuses, ...during.statuses, ...after.statuses });
  assert(
    statuses.every((status) => /^(200|400|401|503)$/.test(status)),
    said,
  );
}

/** Clients are soon in service, and get no 503 before and after. */
export function assertAnswered(account: Account): void {
  const { before, after, recoveryMs } = account;
  const said = JSON.stringify(account);
  assert(!before.statuses[503] && !after.statuses[503], said);
  assert(
    recoveryMs < inServiceWithinMs,
    `it took ${Math.round(recoveryMs)} ms until all were in service: ${said}`,
  );
}

/** Beyond `assertAnswered`: while one node fails, the others refuse no client. */
export function assertOthersServe(account: Account): void {
  assertAnswered(account);
  assert(!account.during.statuses[503], `clients were refused: ${JSON.stringify(account)}`);
}

/** Beyond `assertAnswered`: while the database fails, no client is cut off or kept waiting. */
export function assertPromisesKept(account: Account): void {
  assertAnswered(account);
  const { before, during, after } = account;
  const said = JSON.stringify(account);
  assert(during.statuses[503], `no client was refused: ${said}`);
  assert.equal(before.cut + during.cut + after.cut, 0, `connections were cut: ${said}`);
  assert(
    during.slowestMs < answeredWithinMs,
    `a client waited for ${Math.round(during.slowestMs)} ms: ${said}`,
  );
}
