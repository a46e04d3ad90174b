import type { DatabaseSync } from 'node:sqlite';
import type { CreateOutcome } from '../plants.ts';
import { changes } from '../small-tables.ts';
import { type Call, stepsOf } from '../steps.ts';
import { type Columns, outcomeCode } from './batch.ts';
import { inTransaction } from './database.ts';
import { runSteps } from './steps.ts';

export interface TransactionOptions {
  /** Time to wait for the transaction of another process. */
  readonly lockMs: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Throws if the WAL is full (`Checkpoints`). */
  readonly demandRoom: () => void;
}

export type Transactions = ReturnType<typeof prepareTransactions>;

/** Each function is one transaction: durable on return, rolled back when it throws. */
export function prepareTransactions(
  db: DatabaseSync,
  { lockMs, now, demandRoom }: TransactionOptions,
) {
  const transact = <T>(change: () => T) => inTransaction(db, lockMs, change);
  const prepare = (sql: string) => {
    const statement = db.prepare(sql);
    // `run` reports the last inserted id, which needs a bigint above 2^53.
    statement.setReadBigInts(true);
    return statement;
  };
  const insert = prepare(
    `INSERT INTO plants (id, name, tag, created_at, created_by) VALUES (?, ?, ?, ?, ?) ON
      CONFLICT (id) DO NOTHING`,
  );
  const select = prepare('SELECT name, tag FROM plants WHERE id = ?');
  const journal = prepare(
    `INSERT INTO arrivals (created_at, ids) VALUES
       (max(?, coalesce((SELECT created_at FROM arrivals ORDER BY seq DESC LIMIT 1), 0)), ?)`,
  );
  const upsertBeat = prepare('INSERT OR REPLACE INTO heartbeat (id, beaten_at) VALUES (1, ?)');

  function createPlant(
    id: bigint,
    name: string,
    tag: string | null,
    createdAtMs: number,
    createdBy: number,
  ): CreateOutcome {
    if (insert.run(id, name, tag, createdAtMs, createdBy).changes === 1n) return 'created';
    const stored = select.get(id);
    return stored?.['name'] === name && stored['tag'] === tag ? 'same' : 'taken';
  }

  function createBatch({ ids, names, tags, createdBys, createdAts }: Columns, nowMs: number) {
    const codes = new Uint8Array(ids.length);
    for (let index = 0; index < ids.length; index += 1) {
      const outcome = createPlant(
        ids[index] as bigint,
        names[index] as string,
        tags[index] ?? null,
        createdAts?.[index] ?? nowMs,
        createdBys[index] as number,
      );
      codes[index] = outcomeCode(outcome);
    }
    return codes;
  }

  return {
    /** @returns for each batch, the code of each plant's outcome */
    createPlants(batches: readonly Columns[]): Uint8Array[] {
      demandRoom();
      const nowMs = now();
      return transact(() => {
        const codes = batches.map((batch) => createBatch(batch, nowMs));
        const ids = arrivedIds(batches, codes);
        if (ids.length > 0) journal.run(nowMs, new Uint8Array(ids.buffer));
        return codes;
      });
    },
    beat(atMs: number): void {
      demandRoom();
      transact(() => void upsertBeat.run(atMs));
    },
    change: (call: Call<typeof changes>) => transact(() => runSteps(db, stepsOf(changes, call))),
  };
}

const created = outcomeCode('created');

/** Most batches are created whole: their ids are copied as memory, which costs 0.02 µs a plant. */
function arrivedIds(batches: readonly Columns[], codes: readonly Uint8Array[]): BigInt64Array {
  const arrived = batches.map(({ ids }, index) => {
    const isNew = (_: bigint, at: number) => codes[index]?.[at] === created;
    return codes[index]?.every((code) => code === created) ? ids : ids.filter(isNew);
  });
  const all = new BigInt64Array(arrived.reduce((sum, ids) => sum + ids.length, 0));
  let offset = 0;
  for (const ids of arrived) {
    all.set(ids, offset);
    offset += ids.length;
  }
  return all;
}
