import type { Figures } from '../metrics/figures.ts';
import { metricsContentType, metricsText } from '../metrics/metrics.ts';
import type { Health } from './health.ts';

interface ProbeReply {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/** What machines poll, by path. Requests for a path share the reply that is under way. */
export type Probes = Readonly<Record<string, () => Promise<ProbeReply>>>;

export function probes({ check }: Health, figures: () => Promise<Figures>): Probes {
  return {
    '/livez': async () => json(200, { live: true }),
    '/readyz': shareUnderWay(async () => {
      const readiness = await check();
      return json(readiness.ready ? 200 : 503, readiness);
    }),
    '/metrics': shareUnderWay(async () => {
      return { status: 200, type: metricsContentType, body: metricsText(await figures()) };
    }),
  };
}

function shareUnderWay<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () =>
    (underWay ??= work().finally(() => {
      underWay = undefined;
    }));
}

function json(status: number, body: object): ProbeReply {
  return { status, type: 'application/json', body: JSON.stringify(body) };
}
