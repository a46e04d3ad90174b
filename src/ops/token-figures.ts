import type { RequestCounts } from '../access/tally.ts';
import type { ProblemName } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import { otherTokens } from '../store/tokens.ts';

/**
 * What became of the requests of a token, a subject or the fixed token since the start. The requests
 * of a token that is revoked or expired are refusals with the problem `tokenInvalid`.
 */
export interface TokenFigures {
  readonly name: string;
  readonly created: number;
  readonly same: number;
  readonly taken: number;
  readonly failed: number;
  readonly refusals: ReadonlyMap<ProblemName, RefusalFigures>;
  /** Of the last request. Milliseconds since the epoch, to the second, as are all times here. */
  readonly lastAtMs: number;
  /** Of the last request with a valid token. */
  readonly lastUsedAtMs: number | undefined;
}

interface RefusalFigures {
  readonly count: number;
  readonly lastAtMs: number;
}

/** A token, or a subject, and its refusals with one problem. */
export interface RefusedToken {
  readonly name: string;
  /** Since the start. */
  readonly refused: number;
  readonly lastAtMs: number;
}

export interface TokenFigureTable {
  note(counts: readonly RequestCounts[], atMs: number): void;
  /** By `Caller.id`: of each secret alone. `otherId` has the tokens beyond the bound. */
  readonly byId: ReadonlyMap<number, TokenFigures>;
  /** By name: the secrets of one name are added up. */
  all(): readonly TokenFigures[];
  refusedFor(problem: ProblemName): readonly RefusedToken[];
}

/** Has the tokens beyond `limits.ops.tokenFiguresMax`, with the name `otherTokens`. */
const otherId = -1;

/**
 * Adds up the counts of all threads, by token. The table has the first tokens that were used. A
 * token that was not used for `limits.ops.tokenFiguresIdleMs` makes room, so that a new token of a
 * service that runs for months has figures of its own, too.
 */
export function tabulateTokens(): TokenFigureTable {
  /** In order of the last request. */
  const byId = new Map<number, TokenFigures>();

  function add(id: number, figures: TokenFigures): void {
    const before = byId.get(id);
    byId.delete(id);
    byId.set(id, before === undefined ? figures : sumOf(before, figures));
  }

  /** @returns whether there is room for one more */
  function makeRoom(atMs: number): boolean {
    if (byId.size < limits.ops.tokenFiguresMax) return true;
    for (const [id, figures] of byId) {
      if (id === otherId) continue;
      if (atMs - figures.lastAtMs < limits.ops.tokenFiguresIdleMs) return false;
      byId.delete(id);
      add(otherId, { ...figures, name: otherTokens });
      return true;
    }
    return false;
  }

  function all(): readonly TokenFigures[] {
    const byName = new Map<string, TokenFigures>();
    for (const figures of byId.values()) {
      const before = byName.get(figures.name);
      byName.set(figures.name, before === undefined ? figures : sumOf(before, figures));
    }
    return [...byName.values()];
  }

  return {
    note(counts, atMs) {
      for (const one of counts) {
        const figures = figuresOf(one, atMs);
        if (byId.has(one.id) || makeRoom(atMs)) add(one.id, figures);
        else add(otherId, { ...figures, name: otherTokens });
      }
    },
    byId,
    all,
    refusedFor: (problem) =>
      all().flatMap(({ name, refusals }) => {
        const found = refusals.get(problem);
        return found ? [{ name, refused: found.count, lastAtMs: found.lastAtMs }] : [];
      }),
  };
}

export function refusedIn({ refusals }: Pick<TokenFigures, 'refusals'>): number {
  return refusals.values().reduce((sum, { count }) => sum + count, 0);
}

function figuresOf({ refusals, ...counts }: RequestCounts, atMs: number): TokenFigures {
  const refused = [...refusals].map(([name, count]) => [name, { count, lastAtMs: atMs }] as const);
  const { created, same, taken, failed } = counts;
  const isUse =
    created + same + taken + failed > 0 || refused.some(([name]) => name !== 'tokenInvalid');
  const lastUsedAtMs = isUse ? atMs : undefined;
  return { ...counts, refusals: new Map(refused), lastAtMs: atMs, lastUsedAtMs };
}

export function latest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.max(one, other);
}

function sumOf(one: TokenFigures, other: TokenFigures): TokenFigures {
  const refusals = new Map(one.refusals);
  for (const [problem, { count, lastAtMs }] of other.refusals) {
    const before = refusals.get(problem) ?? { count: 0, lastAtMs: 0 };
    refusals.set(problem, {
      count: before.count + count,
      lastAtMs: Math.max(before.lastAtMs, lastAtMs),
    });
  }
  return {
    name: one.name,
    created: one.created + other.created,
    same: one.same + other.same,
    taken: one.taken + other.taken,
    failed: one.failed + other.failed,
    refusals,
    lastAtMs: Math.max(one.lastAtMs, other.lastAtMs),
    lastUsedAtMs: latest(one.lastUsedAtMs, other.lastUsedAtMs),
  };
}
