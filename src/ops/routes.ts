import { type Context, Hono } from 'hono';
import { etag } from 'hono/etag';
import { methodNotAllowed } from 'hono/method-not-allowed';
import { secureHeaders } from 'hono/secure-headers';
import { callbackPath } from '../access/provider.ts';
import type { Sessions } from '../access/sessions.ts';
import { excerpt } from '../contract/excerpt.ts';
import { StoreError } from '../store/errors.ts';
import type { HistoryReader } from '../store/history.ts';
import type { TokenReader, TokenWriter } from '../store/tokens.ts';
import { downloadBackup, listBackups, makeBackup, stopJob, verifyBackup } from './api/backups.ts';
import { showHistory } from './api/history.ts';
import { refuse } from './api/json.ts';
import { type OverviewSources, showOverview } from './api/overview.ts';
import { exportPlants } from './api/plant-export.ts';
import { countPlants, searchPlants, showPlant } from './api/plants.ts';
import { beginSignIn, finishSignIn, type Provider, showProvider } from './api/provider-sign-in.ts';
import { listRequests, showRequest } from './api/requests.ts';
import { refuseOtherSites } from './api/same-origin.ts';
import {
  demandSession,
  isSignedIn,
  type OperatorEnv,
  type OperatorLog,
  showSession,
  signIn,
  signOut,
} from './api/session.ts';
import {
  createToken,
  inspectToken,
  limitToken,
  listTokens,
  renewToken,
  revokeToken,
} from './api/tokens.ts';
import type { BackupDesk } from './backup-desk.ts';
import { openConsoleFiles } from './console/files.ts';
import type { SampleList } from './contract.ts';
import type { Fetch } from './fetch.ts';
import type { RunningHistory } from './metrics/history.ts';
import type { Samples } from './metrics/samples.ts';
import type { ReaderThread } from './reader.ts';
import type { RecentRequests } from './recent-requests.ts';

export interface ConsoleSources extends OverviewSources {
  readonly sessions: Sessions;
  /** Undefined: operators sign in with tokens only. */
  readonly provider: Provider | undefined;
  readonly store: TokenReader & TokenWriter & HistoryReader;
  readonly reader: ReaderThread;
  readonly samples: Samples;
  readonly history: Pick<RunningHistory, 'begun'>;
  /** Undefined: there is no folder for backups. */
  readonly backups: BackupDesk | undefined;
  readonly requests: RecentRequests;
  readonly log: OperatorLog;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The page of the console and its API: all but the probes. Rejects with any defect. */
export function openConsole(sources: ConsoleSources): Fetch {
  const { sessions, provider, store, reader, samples, requests, backups, log, now } = sources;
  const { history } = sources;
  const page = openConsoleFiles();
  const app = new Hono<OperatorEnv>();
  app.use(secureHeaders(securityHeaders(page.scriptHashes)));
  app.use(methodNotAllowed({ app, onMethodNotAllowed: refuseMethod }));
  app.notFound((context) =>
    refuse(context, 'pathUnknown', `There is nothing at ${excerpt(context.req.path)}.`),
  );
  app.onError(refuseIfUnavailable);

  // Without a session.
  for (const [path, send] of page.files) app.get(path, etag(), send);
  app.use('/api/*', forbidCaching, refuseOtherSites);
  app.post('/api/session', signIn(sessions, log));
  app.get('/api/provider', showProvider(provider));
  if (provider) {
    app.get('/api/sign-in', beginSignIn(provider, log));
    app.get(`/${callbackPath}`, finishSignIn(provider, sessions, log));
  }

  // With a session. Without a session, every path below /api answers 401, also an unknown path.
  app.use('/api/*', demandSession(sessions));
  app.get('/api/session', showSession);
  app.delete('/api/session', signOut(sessions));
  app.get('/api/overview', showOverview(sources));
  app.get('/api/samples', listSamples(samples));
  app.get('/api/history', showHistory(store, history.begun, now));
  app.get('/api/plants', searchPlants(reader));
  app.get('/api/plants/count', countPlants(reader));
  app.get('/api/plants/export', exportPlants(sources, isSignedIn(sessions)));
  app.get('/api/plants/:id', showPlant(reader));
  app.get('/api/requests', listRequests(requests, now));
  app.get('/api/requests/:requestId', showRequest(requests));
  app.get('/api/tokens', listTokens(sources));
  app.post('/api/tokens', createToken(store, log, now));
  app.post('/api/tokens/inspection', inspectToken(sources));
  app.post('/api/tokens/rotation', renewToken(store, log, now));
  app.patch('/api/tokens', limitToken(store, log));
  app.delete('/api/tokens', revokeToken(store, log, now));
  app.get('/api/backups', listBackups(backups, sources.listJobs));
  app.post('/api/backups', makeBackup(backups));
  app.post('/api/backups/verify', verifyBackup(backups));
  app.delete('/api/backups/running', stopJob(backups));
  app.get('/api/backups/:file/download', downloadBackup(backups, log));
  return (request) => app.fetch(request);
}

function listSamples(samples: Samples) {
  return (context: Context) => {
    const after = Number(context.req.query('after') ?? 0);
    return context.json({ samples: samples.after(after) } satisfies SampleList);
  };
}

async function forbidCaching(context: Context, next: () => Promise<void>): Promise<void> {
  context.header('Cache-Control', 'no-store');
  await next();
}

function refuseMethod(context: Context, methods: readonly string[]): Response {
  const allow = methods.join(', ');
  const message = `${excerpt(context.req.path)} takes ${allow}.`;
  return refuse(context, 'methodNotAllowed', message, { Allow: allow });
}

function refuseIfUnavailable(error: Error, context: Context): Response {
  if (!(error instanceof StoreError) || error.failure !== 'unavailable') throw error;
  return refuse(context, 'storeUnavailable', `The store cannot do this now: ${error.message}.`);
}

/** Scripts, styles, images and data come from the listener only. */
function securityHeaders(scriptHashes: readonly string[]): Parameters<typeof secureHeaders>[0] {
  return {
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'", ...scriptHashes],
      styleSrc: ["'self'"],
      imgSrc: ["'self'"],
      connectSrc: ["'self'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
      baseUri: ["'none'"],
    },
    xFrameOptions: 'DENY',
    // The loopback address is used without TLS.
    strictTransportSecurity: false,
  };
}
