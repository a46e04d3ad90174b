import { useMemo } from 'preact/hooks';
import { limits } from '../../../limits.ts';
import type { RequestRecord } from '../../contract.ts';
import type { Api } from './api.ts';
import { type Polled, usePolling } from './requests.ts';

const everyMs = 1_000;

export interface RequestFilter {
  readonly code: string;
  /** The whole name of a token or a subject. */
  readonly token: string;
  /** `false`, or empty: with and without a valid token. */
  readonly validToken: string;
  /** `true`, or empty. */
  readonly creates: string;
}

export interface LiveRequests {
  /** Newest first. */
  readonly requests: readonly RequestRecord[];
  /** Refusals that the service had forgotten before the page could ask for them. */
  readonly missed: number;
}

/** The requests of the last minutes. They outlive a restart of the service. */
export function useLiveRequests(api: Api, filter: RequestFilter): Polled<LiveRequests> {
  const ask = useMemo(() => gatherRequests(api, filter), [api, filter]);
  return usePolling(ask, everyMs);
}

function gatherRequests(
  api: Api,
  filter: RequestFilter,
): (signal: AbortSignal) => Promise<LiveRequests> {
  const limit = limits.ops.refusalsKept;
  let gathered: LiveRequests = { requests: [], missed: 0 };
  let after = '';
  return async (signal) => {
    const news = await api.requests({ ...filter, after, limit: `${limit}` }, signal);
    after = news.next;
    const requests = [...news.requests, ...gathered.requests].slice(0, limit);
    return (gathered = { requests, missed: gathered.missed + news.missed });
  };
}
