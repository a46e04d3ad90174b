import { randomBytes } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { int64Max, int64Min } from '../../contract/int64.ts';
import type { NewPlant } from '../../contract/plant.ts';
import { limits } from '../../limits.ts';
import { isOfPlants, sqlState } from './errors.ts';
import { insertOf } from './plant-insert.ts';
import { checkConstraints, inTransaction, type Query } from './transaction.ts';

/** What a database does with plants, for operators. */
export interface TestWrite {
  /** A plant is not stored as it was sent. */
  readonly fault?: Fault;
  /** No plain plant is taken. */
  readonly refused?: Fault;
  /** Plants of some kinds are refused. */
  readonly warnings: readonly string[];
}

interface Fault {
  /** A clause. */
  readonly says: string;
  /** Statements that end this, as far as they are known. */
  readonly remedy: string;
}

interface Trial {
  readonly outcome: 'stored' | 'id in use' | 'refused' | 'lost' | 'changed';
  readonly says: string;
}

const plain: readonly Omit<NewPlant, 'id'>[] = [
  { name: 'Alder', tag: undefined },
  { name: 'Alder', tag: 'Alnus' },
];

/** What a trigger, a collation or a type may change. */
const unusual = { name: ' Wei\u00dfe E\u0301rle ', tag: ' Alnus' };

/** Tries plants, and rolls back. @param isThorough also those that an index may refuse */
export function testWrite(query: Query, isThorough: boolean): Promise<TestWrite> {
  const work = async (): Promise<TestWrite> => {
    const { id, trials } = await tryPlain(query);
    const { says } =
      trials.find(({ outcome }) => outcome === 'changed' || outcome === 'lost') ?? {};
    if (says !== undefined) return { fault: await faultOf(query, says), warnings: [] };
    if (id === undefined)
      return { refused: await faultOf(query, trials.at(-1)?.says ?? ''), warnings: [] };
    const warnings: string[] = [];
    for (const [kind, plant] of kindsOf(id, isThorough)) {
      const trial = await tryPlant(query, plant);
      if (trial.outcome === 'changed') return { fault: await faultOf(query, trial.says), warnings };
      if (trial.outcome === 'refused' || trial.outcome === 'lost')
        warnings.push(`with ${kind}, ${trial.says}`);
    }
    return { warnings };
  };
  return inTransaction(query, work, 'ROLLBACK');
}

/** Whether the database takes a plain plant, in a transaction. No try begins after `endMs`. */
export async function takesPlainPlant(
  query: Query,
  endMs: number,
  ids?: readonly bigint[],
): Promise<boolean> {
  return (await tryPlain(query, endMs, ids)).trials.at(-1)?.outcome === 'stored';
}

/** @param ids by default of several sizes: a partition or a CHECK may take some of them only */
async function tryPlain(
  query: Query,
  endMs = Number.POSITIVE_INFINITY,
  ids: readonly bigint[] = [63, 47, 31, 15, 7].map(randomId).flatMap((one) => [one, -one]),
): Promise<{ id?: bigint; trials: Trial[] }> {
  const trials: Trial[] = [];
  for (const id of ids)
    for (const plant of plain) {
      if (performance.now() > endMs) return { trials };
      const trial = await tryPlant(query, { id, ...plant });
      if (trial.outcome === 'id in use') continue;
      trials.push(trial);
      if (trial.outcome !== 'refused') return { id, trials };
    }
  return { trials };
}

function randomId(bits: number): bigint {
  return randomBytes(8).readBigUInt64BE() >> BigInt(64 - bits);
}

function kindsOf(id: bigint, isThorough: boolean): [kind: string, plant: NewPlant][] {
  const chars = limits.postgres.testTextChars;
  // No index compresses random text.
  const long = randomBytes(chars / 2).toString('hex');
  return [
    ['blanks and accents', { id, ...unusual }],
    ...(isThorough
      ? ([
          ['an empty name and an empty tag', { id, name: '', tag: '' }],
          [`a name of ${chars} characters`, { id, name: long, tag: undefined }],
          [`a tag of ${chars} characters`, { id, name: 'Alder', tag: long }],
          [`the id ${int64Min}`, { id: int64Min, name: 'Alder', tag: undefined }],
          [`the id ${int64Max}`, { id: int64Max, name: 'Alder', tag: undefined }],
        ] as [string, NewPlant][])
      : []),
  ];
}

/** Of statements that no plant can please: rules, views, policies, missing privileges. */
const ofTable = /^(0A|42)/;

async function tryPlant(query: Query, { id, name, tag }: NewPlant): Promise<Trial> {
  const nowMs = Date.now();
  const insert = insertOf(query, [{ id, name, tag, createdBy: 0 }], nowMs);
  try {
    const tried = [insert, checkConstraints, { text: read, values: [id] }];
    const results = await query.attempt(tried, 'ROLLBACK TO');
    const [inserted = [], , [found] = []] = results.map(({ rows }) => rows);
    const sent = [name, tag ?? null, BigInt(nowMs), 0n];
    if (isDeepStrictEqual(found, sent)) return { outcome: 'stored', says: '' };
    if (inserted.length > 0) return { outcome: 'changed', says: differenceOf(found, sent) };
    if (found !== undefined) return { outcome: 'id in use', says: '' };
    return { outcome: 'lost', says: 'a plant is dropped without an error' };
  } catch (error) {
    if (!isOfPlants(error)) throw error;
    // What a function of the operator has met, or chosen as its code, is of this plant.
    const isOfTable = error.where === undefined && ofTable.test(sqlState(error) ?? '');
    const outcome = isOfTable ? 'changed' : 'refused';
    // The plants are the program's own, so the message may quote them; one is long.
    const says = error.message.slice(0, limits.postgres.testMessageChars);
    return { outcome, says: `a plant is not stored (${says})` };
  }
}

const columns = ['name', 'tag', 'created_at', 'created_by'];
const read = `SELECT ${columns} FROM plants WHERE id = $1`;

function differenceOf(found: unknown[] | undefined, sent: readonly unknown[]): string {
  if (found === undefined) return 'a plant is stored and then hidden';
  const changed = columns.filter((_, index) => found[index] !== sent[index]);
  return `the database changes the ${changed.join(' and the ')} of a plant`;
}

async function faultOf(query: Query, says: string): Promise<Fault> {
  const { rows } = await query(remedies);
  const remedy = rows.map(([statement]) => statement).join('; ');
  return { says, remedy: remedy || unknownRemedy };
}

const unknownRemedy =
  'doctor prints a GRANT if one is missing; or look for what the database does with an INSERT into ' +
  'plants';

/** What ends each trigger, each rule and each policy. */
const remedies = `
  WITH plants AS (SELECT oid, relrowsecurity,
      format('%s.%I', relnamespace::regnamespace, relname) AS name
    FROM pg_class WHERE oid = to_regclass('plants'))
  SELECT format('ALTER TABLE %s DISABLE TRIGGER %I', name, tgname) FROM plants
    JOIN pg_trigger ON tgrelid = plants.oid WHERE NOT tgisinternal AND tgenabled <> 'D'
  UNION ALL SELECT format('ALTER TABLE %s DISABLE RULE %I', name, rulename) FROM plants
    JOIN pg_rewrite ON ev_class = plants.oid WHERE ev_enabled <> 'D'
  UNION ALL SELECT format('ALTER TABLE %s DISABLE ROW LEVEL SECURITY', name)
    FROM plants WHERE relrowsecurity`;
