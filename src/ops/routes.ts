import { Hono } from 'hono';
import type { Health } from './health.ts';

export interface OperatorRoutes {
  readonly health: Health;
}

/** Everything that the operator listener answers. */
export function operatorRoutes({ health }: OperatorRoutes): Hono {
  const app = new Hono();
  app.get('/livez', (context) => context.json({ live: true }));
  app.get('/readyz', async (context) => {
    const checks = await health.check();
    const ready = checks.every(({ ok }) => ok);
    return context.json({ ready, checks }, ready ? 200 : 503);
  });
  app.notFound((context) => context.json({ error: 40400, message: `There is nothing at ${context.req.path}.` }, 404));
  return app;
}
