import { limits } from '../limits.ts';
import type { RefusedRequest } from './contract.ts';

/** The last `limits.ops.refusalsKept` refusals of all HTTP threads, in order of arrival. */
export interface RefusedRequests {
  add(refused: readonly RefusedRequest[]): void;
  /** @returns the refusals that came after that of the request; all if it is not remembered */
  after(requestId: string | undefined): readonly RefusedRequest[];
}

export function rememberRefusals(): RefusedRequests {
  let kept: readonly RefusedRequest[] = [];
  return {
    add(refused) {
      kept = [...kept, ...refused].slice(-limits.ops.refusalsKept);
    },
    after: (requestId) => kept.slice(kept.findIndex((one) => one.requestId === requestId) + 1),
  };
}
