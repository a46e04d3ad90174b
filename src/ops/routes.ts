import { type Context, Hono } from 'hono';
import { methodNotAllowed } from 'hono/method-not-allowed';
import { refuse } from './api/answers.ts';
import type { SignedInEnv } from './api/session.ts';
import type { Figures } from './figures.ts';
import type { Health } from './health.ts';
import { metricsContentType, metricsText } from './metrics.ts';

export interface OperatorRoutes {
  readonly health: Health;
  readonly figures: () => Promise<Figures>;
  /** The files of the console. */
  readonly files: Hono;
  /** What its page asks for. */
  readonly api: Hono<SignedInEnv>;
}

/** Everything that the operator listener answers. */
export function operatorRoutes({ health, figures, files, api }: OperatorRoutes): Hono {
  const app = new Hono();
  app.use(methodNotAllowed({ app, onMethodNotAllowed: refuseMethod }));
  app.get('/livez', (context) => context.json({ live: true }));
  app.get('/readyz', async (context) => {
    const checks = await health.check();
    const ready = checks.every(({ ok }) => ok);
    return context.json({ ready, checks }, ready ? 200 : 503);
  });
  app.get('/metrics', async (context) => context.body(metricsText(await figures()), 200, { 'Content-Type': metricsContentType }));
  app.route('/api', api);
  app.route('/', files);
  return app;
}

function refuseMethod(context: Context, methods: readonly string[]): Response {
  const allow = methods.join(', ');
  return refuse(context, 40500, `${context.req.path} takes ${allow}.`, { Allow: allow });
}
