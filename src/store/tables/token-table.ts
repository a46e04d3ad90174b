import { limits } from '../../limits.ts';
import {
  bigint,
  joined,
  type Result,
  raw,
  runForAll,
  type Statement,
  type Steps,
  sql,
} from './steps.ts';
import { mergeTokens } from './token-merge.ts';
import type {
  CopiedTokens,
  NewToken,
  Rate,
  RefusedRotation,
  RefusedTokens,
  RotatedToken,
  Subject,
  SubjectBounds,
  TokenRecord,
  TokenRotation,
} from './tokens.ts';

/** Condition: neither revoked nor expired. */
export function isLive(nowMs: number): Statement {
  return sql`revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${nowMs})`;
}
const isToken = sql`role <> 'subject'`;
const isNotRevoked = sql`revoked_at IS NULL AND ${isToken}`;

/** Condition: later than the last use. A use in the future is of a clock that was ahead. */
function isLaterUse(at: Statement): Statement {
  const apart = raw(`${limits.store.clocksApartMs}`);
  return sql`NOT coalesce(last_used_at BETWEEN ${at} AND ${at} + ${apart}, FALSE)`;
}

/** The columns of a record, but for those of its rate. */
const columns = {
  id: 'id',
  name: 'name',
  hash: 'hash',
  role: 'role',
  createdAtMs: 'created_at',
  expiresAtMs: 'expires_at',
  revokedAtMs: 'revoked_at',
  rotatedAtMs: 'rotated_at',
  lastUsedAtMs: 'last_used_at',
  createdBy: 'made_by',
  revokedBy: 'revoked_by',
} as const satisfies Record<Exclude<keyof TokenRecord, 'rate'>, string>;
const fields = Object.keys(columns) as (keyof typeof columns)[];

/** In order of creation. */
export function* tokenRecords(where: Statement): Steps<TokenRecord[]> {
  const { rows } = yield sql`SELECT * FROM tokens ${where} ORDER BY id`;
  return rows.map((row) => {
    const { rate_per_day: perDay, burst } = row;
    const values = fields.map((field) => [field, row[columns[field]] ?? undefined]);
    const hasRate = typeof perDay === 'number' && typeof burst === 'number';
    const rate = hasRate ? { perDay, burst } : undefined;
    return { ...Object.fromEntries(values), rate } as TokenRecord;
  });
}

export function* first<T>(all: Steps<readonly T[]>): Steps<T | undefined> {
  return (yield* all)[0];
}

export const tokenReads = {
  /** All tokens and subjects, revoked tokens too, in order of creation. */
  listTokens: () => tokenRecords(raw('')),
  /** Tokens that are neither revoked nor expired, rotated ones too, in order of creation. */
  liveTokens: (nowMs: number) => tokenRecords(sql`WHERE ${isLive(nowMs)} AND ${isToken}`),
  /** The token with this SHA-256, revoked or not. */
  findToken: (hash: Uint8Array) => first(tokenRecords(sql`WHERE hash = ${hash}`)),
  findTokens: (hashes: readonly Uint8Array[]) =>
    tokenRecords(
      sql`WHERE hash IN (${joined(
        hashes.map((hash) => sql`${hash}`),
        ', ',
      )})`,
    ),
  /** @param usedSinceMs a token that was used later counts as in use */
  *countTokens(nowMs: number, usedSinceMs: number) {
    const { rows } = yield sql`
      SELECT count(*) AS total, count(revoked_at) AS revoked,
        count(*) FILTER (WHERE ${isLive(nowMs)} AND rotated_at IS NULL) AS valid,
        count(*) FILTER (WHERE ${isLive(nowMs)} AND rotated_at IS NOT NULL) AS rotated,
        count(*) FILTER (WHERE ${isLive(nowMs)} AND last_used_at > ${usedSinceMs}) AS in_use
      FROM tokens WHERE ${isToken}`;
    const { total = 0, revoked = 0, valid = 0, rotated = 0, in_use: inUse = 0 } = numbersIn(rows);
    const expired = total - valid - rotated - revoked;
    return { byState: { valid, rotated, expired, revoked }, inUse };
  },
};

function numbersIn(rows: Result['rows']): Partial<Record<string, number>> {
  return (rows[0] ?? {}) as Record<string, number>;
}

export const tokenChanges = {
  /** A name is taken while a token of this name is not revoked; expired or not. */
  *createToken(token: NewToken, liveMax: number): Steps<'created' | 'name taken' | 'too many'> {
    if ((yield* countLive(token.createdAtMs)) >= liveMax) return 'too many';
    const { rows } = yield sql`SELECT id FROM tokens
      WHERE revoked_at IS NULL AND rotated_at IS NULL AND name = ${token.name}`;
    if (rows.length > 0) return 'name taken';
    yield* insert([{ ...token, id: yield* nextId('tokens') }]);
    return 'created';
  },

  /**
   * Gives the token of this name a new secret. A token has two secrets in force at most. A second
   * rotation within the grace of the first is refused, because it would end a secret that was
   * promised to be in force, unless it has no grace: then all earlier secrets end.
   */
  *rotateToken(rotation: TokenRotation, liveMax: number): Steps<RotatedToken | RefusedRotation> {
    const { name, atMs, graceMs, by } = rotation;
    const named = yield* tokenRecords(sql`WHERE name = ${name} AND ${isNotRevoked}`);
    const current = named.find(({ rotatedAtMs }) => rotatedAtMs === undefined);
    if (current === undefined) return 'not in force';
    const { id, expiresAtMs = Infinity } = current;
    const inForce = named.filter(({ expiresAtMs: endMs = Infinity }) => endMs > atMs);
    const keepsOld = graceMs > 0;
    const earlier = inForce.find((token) => token !== current);
    if (keepsOld && earlier !== undefined) return { inForceUntilMs: earlier.expiresAtMs ?? atMs };
    const live = yield* countLive(atMs);
    if (live - (keepsOld ? 0 : inForce.length) >= liveMax) return 'too many';

    const previousUntilMs = keepsOld ? Math.min(atMs + graceMs, expiresAtMs) : undefined;
    if (keepsOld)
      yield sql`UPDATE tokens SET rotated_at = ${atMs}, expires_at = ${previousUntilMs}
        WHERE id = ${id}`;
    const ended = keepsOld ? [] : new Set([current, ...inForce]);
    for (const { id } of ended)
      yield sql`UPDATE tokens SET revoked_at = ${atMs}, revoked_by = ${by} WHERE id = ${id}`;
    const token = newSecret(current, rotation);
    yield* insert([{ ...token, id: yield* nextId('tokens') }]);
    return { token, previousUntilMs };
  },

  /** All secrets of the name get the rate. @returns false if no token of this name is in force */
  limitToken: (name: string, rate: Rate | undefined) =>
    changeInForce(name, sql`rate_per_day = ${rate?.perDay}, burst = ${rate?.burst}`),

  /** Ends all secrets of the name. @returns false if no token of this name is in force */
  revokeToken: (name: string, atMs: number, by?: string) =>
    changeInForce(name, sql`revoked_at = ${atMs}, revoked_by = ${by}`),

  /** Adds all tokens of another store, or none (`mergeTokens`). */
  *copyTokens(
    tokens: readonly TokenRecord[],
    liveMax: number,
    nowMs: number,
  ): Steps<CopiedTokens | RefusedTokens> {
    const merged = mergeTokens(yield* tokenRecords(raw('')), tokens, liveMax, nowMs);
    if (!('ids' in merged)) return merged;
    yield* runForAll(
      (rows) => sql`DELETE FROM tokens WHERE id IN (VALUES ${rows})`,
      merged.written.map(({ id }) => bigint(id)),
    );
    yield* insert(merged.written);
    return { ids: merged.ids };
  },

  /**
   * Notes a use of the subject with this hash, which is made if it is new.
   *
   * @returns its id, which stays its own for `subjectIdleMs`, and never becomes that of another
   */
  *ensureSubject({ name, hash, atMs }: Subject, bounds: SubjectBounds): Steps<number> {
    const at = bigint(atMs);
    const known = yield sql`
      UPDATE tokens SET last_used_at = CASE WHEN ${isLaterUse(at)} THEN ${at} ELSE last_used_at END
      WHERE hash = ${hash} RETURNING id`;
    if (known.rows[0]) return known.rows[0]['id'] as number;
    const { rows } = yield sql`SELECT count(*) AS subjects FROM tokens WHERE role = 'subject'`;
    const forgotten = subjectsToForget(numbersIn(rows)['subjects'] ?? 0, bounds);
    if (forgotten > 0) yield forgetSubjects(atMs - bounds.subjectIdleMs, forgotten);
    const id = yield* nextId('tokens');
    const times = { createdAtMs: atMs, lastUsedAtMs: atMs };
    yield* insert([{ id, name, hash, role: 'subject', ...times }]);
    return id;
  },

  *recordTokenUse(uses: readonly { readonly id: number; readonly atMs: number }[]): Steps<void> {
    yield* runForAll(
      (rows) => sql`UPDATE tokens SET last_used_at = column2 FROM (VALUES ${rows}) AS used
        WHERE tokens.id = column1 AND ${isLaterUse(raw('column2'))}`,
      uses.map(({ id, atMs }) => sql`CAST(${id} AS bigint), CAST(${atMs} AS bigint)`),
    );
  },
};

function* changeInForce(name: string, values: Statement): Steps<boolean> {
  const change = sql`UPDATE tokens SET ${values} WHERE name = ${name} AND ${isNotRevoked}`;
  return (yield change).changes > 0;
}

function newSecret(
  { name, role, rate, createdAtMs, expiresAtMs }: TokenRecord,
  { hash, atMs, validMs, by }: TokenRotation,
): NewToken {
  const lifeMs = validMs ?? (expiresAtMs === undefined ? undefined : expiresAtMs - createdAtMs);
  const endMs = lifeMs === undefined ? undefined : atMs + lifeMs;
  return { name, hash, role, rate, createdAtMs: atMs, expiresAtMs: endMs, createdBy: by };
}

function* countLive(nowMs: number): Steps<number> {
  const count = sql`SELECT count(*) AS live FROM tokens WHERE ${isLive(nowMs)} AND ${isToken}`;
  return numbersIn((yield count).rows)['live'] ?? 0;
}

export function* nextId(table: 'tokens' | 'backups'): Steps<number> {
  const { rows } = yield raw(`SELECT coalesce(max(id), 0) + 1 AS id FROM ${table}`);
  return numbersIn(rows)['id'] as number;
}

type NewRow = Partial<TokenRecord> &
  Pick<TokenRecord, 'id' | 'name' | 'hash' | 'role' | 'createdAtMs'>;

function insert(tokens: readonly NewRow[]): Steps<void> {
  const names = raw([...Object.values(columns), 'rate_per_day', 'burst'].join(', '));
  return runForAll(
    (rows) => sql`INSERT INTO tokens (${names}) VALUES ${rows}`,
    tokens.map(({ rate, ...token }) => {
      const values = fields.map((field) => sql`${token[field]}`);
      return sql`${joined(values, ', ')}, ${rate?.perDay}, ${rate?.burst}`;
    }),
  );
}

/** How many subjects to forget before one more is made. */
function subjectsToForget(subjects: number, { subjectsMax }: SubjectBounds): number {
  return subjects < subjectsMax ? 0 : 1 + subjects - subjectsMax + Math.floor(subjectsMax / 100);
}

/** The row with the greatest id stays, so that no id comes again. */
function forgetSubjects(unusedSinceMs: number, count: number): Statement {
  return sql`DELETE FROM tokens WHERE id IN (
    SELECT id FROM tokens
    WHERE role = 'subject' AND coalesce(last_used_at, created_at) <= ${unusedSinceMs}
      AND id < (SELECT max(id) FROM tokens) AND id NOT IN (SELECT token_id FROM sessions)
    ORDER BY coalesce(last_used_at, created_at), id LIMIT ${count})`;
}
