import { limits } from '../limits.ts';

/** A token, or a subject, whose creates were beyond its rate. */
export interface LimitedToken {
  readonly name: string;
  /** Refused creates since the start. */
  readonly refused: number;
  /** Milliseconds since the epoch. */
  readonly lastAtMs: number;
}

export interface LimitedTokens {
  /** @param creates refused creates by the name of their token */
  note(creates: ReadonlyMap<string, number>, atMs: number): void;
  all(): readonly LimitedToken[];
}

/** Stands for all names beyond `limits.ops.limitedTokensMax`. The name of a token has no space. */
const others = 'all others';

/** Counts refused creates by token. The first tokens that were limited have counts of their own. */
export function countLimitedTokens(): LimitedTokens {
  const byName = new Map<string, LimitedToken>();
  return {
    note(creates, atMs) {
      for (const [found, count] of creates) {
        const isCounted = byName.has(found) || byName.size < limits.ops.limitedTokensMax;
        const name = isCounted ? found : others;
        const refused = (byName.get(name)?.refused ?? 0) + count;
        byName.set(name, { name, refused, lastAtMs: atMs });
      }
    },
    all: () => [...byName.values()],
  };
}
