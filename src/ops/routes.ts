import { Hono } from 'hono';
import { limits } from '../limits.ts';
import type { Figures } from './figures.ts';
import type { Health } from './health.ts';
import { metricsContentType, metricsText } from './metrics.ts';
import type { Samples } from './samples.ts';

export interface OperatorRoutes {
  readonly health: Health;
  readonly figures: () => Promise<Figures>;
  readonly samples: Samples;
  /** The files of the console. */
  readonly files: Hono;
}

/** Everything that the operator listener answers. */
export function operatorRoutes({ health, figures, samples, files }: OperatorRoutes): Hono {
  const app = new Hono();
  app.get('/livez', (context) => context.json({ live: true }));
  app.get('/readyz', async (context) => {
    const checks = await health.check();
    const ready = checks.every(({ ok }) => ok);
    return context.json({ ready, checks }, ready ? 200 : 503);
  });
  app.get('/metrics', async (context) => context.body(metricsText(await figures()), 200, { 'Content-Type': metricsContentType }));
  app.get('/api/samples', (context) => {
    const after = Number(context.req.query('after') ?? 0);
    return context.json({ everyMs: limits.samplesEveryMs, samples: samples.after(after) });
  });
  app.route('/', files);
  return app;
}
