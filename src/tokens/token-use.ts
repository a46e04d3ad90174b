import { limits } from '../limits.ts';
import type { TableWriter } from '../store/tables/tables.ts';

/**
 * Stores when tokens were last used, once in `limits.access.useFlushMs` and at the end; sooner after
 * uses of `limits.access.usesMax` tokens.
 */
export function recordUses(store: TableWriter, onError: (error: unknown) => void) {
  const lastUsed = new Map<number, number>();
  const flushing = setInterval(flush, limits.access.useFlushMs);

  async function flush(): Promise<void> {
    const uses = [...lastUsed].map(([id, atMs]) => ({ id, atMs }));
    lastUsed.clear();
    if (uses.length > 0) await store.recordTokenUse(uses).catch(onError);
  }

  return {
    /** @param id 0, the fixed token, is not in the store */
    note(id: number, atMs: number) {
      if (id > 0) lastUsed.set(id, atMs);
      if (lastUsed.size >= limits.access.usesMax) void flush();
    },
    async [Symbol.asyncDispose]() {
      clearInterval(flushing);
      await flush();
    },
  };
}
