import { Hono } from 'hono';
import type { Sessions } from '../../access/sessions.ts';
import { limits } from '../../limits.ts';
import { type Store, StoreError } from '../../store/store.ts';
import type { Samples } from '../metrics/samples.ts';
import type { ReaderThread } from '../reader.ts';
import { refuse } from './answers.ts';
import type { OperatorLog } from './log.ts';
import { type OverviewSources, overview } from './overview.ts';
import { plantRoutes } from './plants.ts';
import { refuseOtherSites } from './same-origin.ts';
import { demandSession, type SignedInEnv, signIn, signOut } from './session.ts';
import { tokenRoutes } from './tokens.ts';

export interface ApiSources extends OverviewSources {
  readonly sessions: Sessions;
  readonly store: Store;
  readonly reader: ReaderThread;
  readonly samples: Samples;
  readonly log: OperatorLog;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** What the console's page asks for, below /api. */
export function apiRoutes({
  sessions,
  store,
  reader,
  samples,
  log,
  now,
  ...sources
}: ApiSources): Hono<SignedInEnv> {
  const app = new Hono<SignedInEnv>();
  app.use(async (context, next) => {
    context.header('Cache-Control', 'no-store');
    await next();
  });
  app.use(refuseOtherSites);
  app.post('/session', signIn(sessions, log));

  // Whatever comes from here on is for those who have signed in.
  app.use(demandSession(sessions));
  app.get('/session', (context) => context.json({ name: context.get('operator') }));
  app.delete('/session', signOut(sessions));
  app.get('/overview', async (context) => context.json(await overview(sources)));
  app.get('/samples', (context) => {
    const after = Number(context.req.query('after') ?? 0);
    return context.json({ everyMs: limits.ops.samplesEveryMs, samples: samples.after(after) });
  });
  app.route('/', plantRoutes(reader));
  app.route('/', tokenRoutes(store, log, now));
  app.onError((error, context) => {
    if (!(error instanceof StoreError) || error.failure !== 'unavailable') throw error;
    return refuse(context, 'storeUnavailable', `The store cannot do this now: ${error.message}.`);
  });
  return app;
}
