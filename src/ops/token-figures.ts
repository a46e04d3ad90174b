import type { TokenCounts } from '../access/tally.ts';
import type { ProblemName } from '../contract/problems.ts';
import { limits } from '../limits.ts';

/** What became of the requests of a token, a subject or the fixed token since the start. */
export interface TokenFigures {
  readonly name: string;
  readonly created: number;
  readonly same: number;
  readonly taken: number;
  readonly failed: number;
  readonly refusals: ReadonlyMap<ProblemName, RefusalFigures>;
  /** Milliseconds since the epoch, to the second, as are all times here. */
  readonly lastUsedAtMs: number;
}

interface RefusalFigures {
  readonly count: number;
  readonly lastAtMs: number;
}

/** A token, or a subject, whose creates were beyond its rate. */
export interface LimitedToken {
  readonly name: string;
  /** Refused creates since the start. */
  readonly refused: number;
  readonly lastAtMs: number;
}

export interface TokenFigureTable {
  note(counts: readonly TokenCounts[], atMs: number): void;
  /** By `Caller.id`: of each secret alone. `otherId` has the tokens beyond the bound. */
  readonly byId: ReadonlyMap<number, TokenFigures>;
  /** By name: the secrets of one name are added up. */
  all(): readonly TokenFigures[];
  limited(): readonly LimitedToken[];
}

/** Stands for all tokens beyond `limits.ops.tokenFiguresMax`. The name of a token has no space. */
export const otherTokens = 'all others';
export const otherId = -1;

/**
 * Adds up the counts of all threads, by token. The table has the first tokens that were used. A
 * token that was not used for `limits.ops.tokenFiguresIdleMs` makes room, so that a new token of a
 * service that runs for months has figures of its own, too.
 */
export function tabulateTokens(): TokenFigureTable {
  /** In order of last use. */
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
      if (atMs - figures.lastUsedAtMs < limits.ops.tokenFiguresIdleMs) return false;
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
    limited: () =>
      all().flatMap(({ name, refusals }) => {
        const limited = refusals.get('rateLimited');
        return limited ? [{ name, refused: limited.count, lastAtMs: limited.lastAtMs }] : [];
      }),
  };
}

/** Refusals since the start, by name. */
export function refusalsOf(table: Pick<TokenFigureTable, 'all'>): ReadonlyMap<string, number> {
  return new Map(table.all().map((figures) => [figures.name, refusedIn(figures)]));
}

export function refusedIn({ refusals }: Pick<TokenFigures, 'refusals'>): number {
  return refusals.values().reduce((sum, { count }) => sum + count, 0);
}

function figuresOf({ refusals, ...counts }: TokenCounts, atMs: number): TokenFigures {
  const refused = [...refusals].map(([name, count]) => [name, { count, lastAtMs: atMs }] as const);
  return { ...counts, refusals: new Map(refused), lastUsedAtMs: atMs };
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
    lastUsedAtMs: Math.max(one.lastUsedAtMs, other.lastUsedAtMs),
  };
}
