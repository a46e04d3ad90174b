import type { Answer } from '../answer.ts';
import { answerJson } from '../api/json.ts';
import type { Figures } from '../metrics/figures.ts';
import { metricsContentType, metricsText } from '../metrics/metrics.ts';
import type { Health } from './health.ts';

/** What machines poll, by path. Requests for a path share the reply that is under way. */
export type Probes = Readonly<Record<string, () => Promise<Answer>>>;

export function probes({ check }: Health, figures: () => Promise<Figures>): Probes {
  return {
    '/livez': async () => answerJson({ live: true }),
    '/readyz': shareUnderWay(async () => {
      const readiness = await check();
      return answerJson(readiness, readiness.ready ? 200 : 503);
    }),
    '/metrics': shareUnderWay(async () => ({
      status: 200,
      headers: { 'Content-Type': metricsContentType },
      body: metricsText(await figures()),
    })),
  };
}

function shareUnderWay<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () =>
    (underWay ??= work().finally(() => {
      underWay = undefined;
    }));
}
