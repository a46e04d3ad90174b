import { limits } from '../limits.ts';
import type { RefusedRequest } from './contract.ts';

export type RefusedRequests = ReturnType<typeof rememberRefusals>;

/** The last `limits.ops.refusalsKept` refusals of all HTTP threads, in order of arrival. */
export function rememberRefusals() {
  let kept: readonly RefusedRequest[] = [];
  return {
    add(refused: readonly RefusedRequest[]): void {
      kept = [...kept, ...refused].slice(-limits.ops.refusalsKept);
    },
    /** @returns the refusals that came after that of the request; all if it is not remembered */
    after: (requestId: string | undefined) =>
      kept.slice(kept.findIndex((one) => one.requestId === requestId) + 1),
  };
}
