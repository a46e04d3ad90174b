import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** What a client meant to create. The id is in decimal, so that JSON keeps it exact. */
export interface SentPlant {
  readonly id: string;
  readonly name: string;
  readonly tag?: string | undefined;
}

interface Entry {
  readonly n: number;
  /** By the monotonic clock of the client. */
  readonly atMs: number;
}

/**
 * Written before the request is sent. `storable` is false for a request that must be refused,
 * whatever the store holds.
 */
interface SentEntry extends Entry {
  readonly sent: SentPlant;
  readonly storable: boolean;
}

/** A reply, or the connection was lost before there was one. */
export type Outcome =
  | {
      readonly status: number;
      readonly body: string;
      readonly requestId?: string | undefined;
    }
  | { readonly lost: true };

/** Written after the outcome is known. */
type OutcomeEntry = Entry & Outcome;

export type JournalEntry = SentEntry | OutcomeEntry;

const noCounts = {
  sent: 0,
  acknowledged: 0,
  refused: 0,
  conflicts: 0,
  unknown: 0,
  retriedAcknowledged: 0,
  retriedUnknown: 0,
  ids: 0,
  plants: 0,
};

export interface CheckReport {
  readonly violations: readonly string[];
  readonly counts: Readonly<typeof noCounts>;
}

interface Attempt extends SentEntry {
  outcome: OutcomeEntry | undefined;
}

/**
 * Names of error codes that say for certain that this request has stored nothing, beside all of
 * 4xx.
 */
const certainlyNotStored = new Set([50300, 50302]);
const idTaken = 40004;
const defect = 50000;

/**
 * Compares a store with what clients wrote down while they were talking to one or more servers. An
 * id is a register that is written once: every plant that was answered 200 is there once and equal,
 * nothing that was refused is there, nothing that was never sent, and no id was taken before the
 * plant that has it was sent.
 */
export function checkEntries(storePath: string, entries: Iterable<JournalEntry>): CheckReport {
  const faults: string[] = [];
  const { violations, counts } = checkPlants(readStore(storePath, faults), entries);
  return { violations: [...faults, ...violations], counts };
}

/** The same with what is in the store, by id. */
export function checkPlants(
  stored: ReadonlyMap<string, SentPlant>,
  entries: Iterable<JournalEntry>,
): CheckReport {
  const violations: string[] = [];
  const counts = { ...noCounts, plants: stored.size };
  const attemptsById = new Map<string, Attempt[]>();
  const pending = new Map<number, Attempt>();
  for (const entry of entries) {
    if ('sent' in entry) {
      const attempt: Attempt = { ...entry, outcome: undefined };
      const earlier = attemptsById.get(entry.sent.id) ?? [];
      // What was known of this very plant when it was sent again.
      const before = earlier
        .filter((other) => other.storable && samePlant(other.sent, entry.sent))
        .map(kindOf);
      if (before.includes('acknowledged')) counts.retriedAcknowledged += 1;
      else if (before.includes('unknown')) counts.retriedUnknown += 1;
      attemptsById.set(entry.sent.id, [...earlier, attempt]);
      pending.set(entry.n, attempt);
      counts.sent += 1;
      continue;
    }
    const attempt = pending.get(entry.n);
    if (attempt === undefined) {
      violations.push(`the journal has an outcome for request ${entry.n}, which was not under way`);
      continue;
    }
    pending.delete(entry.n);
    attempt.outcome = entry;
  }

  counts.ids = attemptsById.size;
  for (const [id, attempts] of attemptsById) {
    for (const attempt of attempts) {
      counts[kindOf(attempt)] += 1;
      if (errorOf(attempt) === idTaken) counts.conflicts += 1;
    }
    for (const what of faultsOf(attempts, stored.get(id))) violations.push(`id ${id}: ${what}`);
  }
  for (const id of stored.keys())
    if (!attemptsById.has(id)) violations.push(`id ${id}: it is in the store and was never sent`);
  return { violations, counts };
}

function faultsOf(attempts: readonly Attempt[], stored: SentPlant | undefined): string[] {
  const faults: string[] = [];
  const writes = attempts.filter(
    (attempt) =>
      attempt.storable &&
      kindOf(attempt) !== 'refused' &&
      stored !== undefined &&
      samePlant(attempt.sent, stored),
  );
  if (stored !== undefined && writes.length === 0) {
    faults.push(
      `the store holds ${JSON.stringify(stored)}, and every request for such a plant was refused`,
    );
  }
  const storedFromMs = Math.min(...writes.map(({ atMs }) => atMs));
  for (const attempt of attempts) {
    const fault = faultOf(attempt, stored, storedFromMs);
    if (fault) faults.push(`request ${attempt.n}: ${fault}`);
  }
  return faults;
}

/** @param storedFromMs when the stored plant was sent first */
function faultOf(
  attempt: Attempt,
  stored: SentPlant | undefined,
  storedFromMs: number,
): string | undefined {
  const kind = kindOf(attempt);
  const error = errorOf(attempt);
  if (error === defect)
    return `the server answered with a defect: ${JSON.stringify(attempt.outcome)}`;
  if (!attempt.storable)
    return kind === 'acknowledged' ? 'it should have been refused and was answered 200' : undefined;
  if (kind === 'unknown') return undefined;
  if (kind === 'acknowledged') {
    if (stored === undefined) return 'it was answered 200 and is not in the store';
    if (!samePlant(attempt.sent, stored))
      return `it was answered 200, and the store holds ${JSON.stringify(stored)} instead of it`;
    return bodyIsPlant(attempt)
      ? undefined
      : `the 200 has the body of another plant: ${JSON.stringify(attempt.outcome)}`;
  }
  if (error !== idTaken)
    return certainlyNotStored.has(error ?? 0)
      ? undefined
      : `a valid plant was refused: ${JSON.stringify(attempt.outcome)}`;
  if (stored === undefined)
    return 'it was refused because its id is taken, and the store has no such id';
  if (samePlant(attempt.sent, stored))
    return 'it was refused because its id is taken, and by this very plant';
  return (attempt.outcome?.atMs ?? 0) < storedFromMs
    ? 'it was refused because its id is taken, before the plant that has it was sent'
    : undefined;
}

/**
 * 5xx, a lost connection or no outcome at all leave it open whether the plant was stored; 4xx
 * never.
 */
function kindOf({ outcome }: Attempt): 'acknowledged' | 'refused' | 'unknown' {
  if (outcome === undefined || 'lost' in outcome) return 'unknown';
  if (outcome.status === 200) return 'acknowledged';
  return outcome.status < 500 || certainlyNotStored.has(JSON.parse(outcome.body).error)
    ? 'refused'
    : 'unknown';
}

function errorOf({ outcome }: Attempt): number | undefined {
  if (outcome === undefined || 'lost' in outcome || outcome.status === 200) return undefined;
  return JSON.parse(outcome.body).error;
}

function bodyIsPlant({ sent: { name, tag }, outcome }: Attempt): boolean {
  return (
    outcome !== undefined && 'body' in outcome && outcome.body === JSON.stringify({ name, tag })
  );
}

function samePlant(one: SentPlant, other: SentPlant): boolean {
  return one.name === other.name && one.tag === other.tag;
}

/** Reads the file with SQLite alone, as anyone could, and lets SQLite check it first. */
export function readStore(path: string, violations: string[]): Map<string, SentPlant> {
  using db = new DatabaseSync(path, { readOnly: true, timeout: 5_000 });
  for (const { integrity_check: line } of db.prepare('PRAGMA integrity_check').all()) {
    if (line !== 'ok') violations.push(`integrity_check: ${line}`);
  }
  const stored = new Map<string, SentPlant>();
  for (const row of db.prepare('SELECT CAST(id AS TEXT) AS id, name, tag FROM plants').iterate()) {
    const id = String(row['id']);
    if (stored.has(id)) violations.push(`id ${id}: it is in the store more than once`);
    stored.set(id, {
      id,
      name: row['name'] as string,
      tag: (row['tag'] as string | null) ?? undefined,
    });
  }
  return stored;
}

/** Keeps the journal of a run that has failed, one entry a line. */
export async function keepJournal(folder: string, entries: readonly JournalEntry[]): Promise<void> {
  // A long run writes more than a string can hold.
  const lines = entries.values().map((entry) => `${JSON.stringify(entry)}\n`);
  await writeFile(join(folder, 'journal.ndjson'), lines);
}
