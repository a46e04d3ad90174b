import type { Figures } from '../metrics/figures.ts';
import { metricsContentType, metricsText } from '../metrics/metrics.ts';
import type { Health } from './health.ts';

interface ProbeReply {
  readonly status: number;
  readonly type: string;
  readonly body: string;
}

/**
 * What machines ask for, again and again, by path. Whoever asks while an answer is under way gets
 * the same one.
 */
export type Probes = Readonly<Record<string, () => Promise<ProbeReply>>>;

export function probes({ check }: Health, figures: () => Promise<Figures>): Probes {
  const all: Probes = {
    '/livez': async () => json(200, { live: true }),
    '/readyz': async () => {
      const readiness = await check();
      return json(readiness.ready ? 200 : 503, readiness);
    },
    '/metrics': async () => ({
      status: 200,
      type: metricsContentType,
      body: metricsText(await figures()),
    }),
  };
  return Object.fromEntries(
    Object.entries(all).map(([path, probe]) => [path, sharedUnderWay(probe)]),
  );
}

/** However many ask, it does its work once at a time. */
function sharedUnderWay<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () =>
    (underWay ??= work().finally(() => {
      underWay = undefined;
    }));
}

function json(status: number, body: object): ProbeReply {
  return { status, type: 'application/json', body: JSON.stringify(body) };
}
