import type { ProblemName } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import { outcomes, type RequestCounts } from '../tokens/tally.ts';
import { byOutcome } from './metrics/samples.ts';

/** Since the start. Requests of a revoked or expired token are refusals with `tokenInvalid`. */
export interface TokenFigures extends Readonly<Omit<RequestCounts, 'id' | 'refusals'>> {
  readonly refusals: ReadonlyMap<ProblemName, Readonly<Record<'count' | 'lastAtMs', number>>>;
  /** Of the last request with a valid token; 0 for never. In milliseconds since the epoch. */
  readonly lastUsedAtMs: number;
}

export type TokenFigureTable = ReturnType<typeof tabulateTokens>;

/**
 * Tokens beyond `limits.ops.tokenFiguresMax` are counted as one. No token has its name, because a
 * name of a token has no space.
 */
const otherId = -1;
export const otherTokens = 'all others';

/** Adds up the counts of all threads, by token. The first tokens have figures of their own. */
export function tabulateTokens() {
  const byId = new Map<number, TokenFigures>();

  return {
    note(counts: readonly RequestCounts[], atMs: number): void {
      for (const { id, ...one } of counts) {
        const hasRoom = byId.has(id) || byId.size < limits.ops.tokenFiguresMax;
        const place = hasRoom ? id : otherId;
        const figures = figuresOf(hasRoom ? one : { ...one, name: otherTokens }, atMs);
        const before = byId.get(place);
        byId.set(place, before === undefined ? figures : sumOf(before, figures));
      }
    },
    /** By `Caller.id`: of each secret alone. `otherId` has the tokens beyond the bound. */
    byId: byId as ReadonlyMap<number, TokenFigures>,
    /** By name: the secrets of one name are added up. */
    all(): readonly TokenFigures[] {
      const byName = Map.groupBy(byId.values(), ({ name }) => name);
      return [...byName.values()].map((secrets) => secrets.reduce(sumOf));
    },
  };
}

export function refusedIn({ refusals }: Pick<TokenFigures, 'refusals'>): number {
  return refusals.values().reduce((sum, { count }) => sum + count, 0);
}

function figuresOf({ refusals, ...counts }: Omit<RequestCounts, 'id'>, atMs: number): TokenFigures {
  const refused = [...refusals].map(([name, count]) => [name, { count, lastAtMs: atMs }] as const);
  const isUse =
    outcomes.some((outcome) => counts[outcome] > 0) ||
    refused.some(([name]) => name !== 'tokenInvalid');
  return { ...counts, refusals: new Map(refused), lastUsedAtMs: isUse ? atMs : 0 };
}

function sumOf(one: TokenFigures, other: TokenFigures): TokenFigures {
  const refusals = new Map(one.refusals);
  for (const [problem, { count, lastAtMs }] of other.refusals) {
    const before = refusals.get(problem) ?? { count: 0, lastAtMs: 0 };
    const newest = Math.max(before.lastAtMs, lastAtMs);
    refusals.set(problem, { count: before.count + count, lastAtMs: newest });
  }
  return {
    ...one,
    ...byOutcome((outcome) => one[outcome] + other[outcome]),
    refusals,
    lastUsedAtMs: Math.max(one.lastUsedAtMs, other.lastUsedAtMs),
  };
}
