import type { Answer } from '../answer.ts';
import { answerJson } from '../api/json.ts';
import { reused } from '../loading.ts';
import type { Figures } from '../metrics/figures.ts';
import { metricsContentType, metricsText } from '../metrics/metrics.ts';
import type { Health } from './health.ts';

/** What machines poll, by path. Requests for a path share the reply that is under way. */
export type Probes = Readonly<Record<string, () => Promise<Answer>>>;

export function probes({ check }: Health, figures: () => Promise<Figures>): Probes {
  return {
    '/livez': async () => answerJson({ live: true }),
    '/readyz': reused(async () => {
      const readiness = await check();
      return answerJson(readiness, readiness.ready ? 200 : 503);
    }, 0),
    '/metrics': reused(async () => {
      const headers = { 'Content-Type': metricsContentType };
      return { status: 200, headers, body: metricsText(await figures()) };
    }, 0),
  };
}
