import { callbackPath } from '../access/provider.ts';
import type { Sessions } from '../access/sessions.ts';
import { excerpt } from '../contract/excerpt.ts';
import { StoreError } from '../store/errors.ts';
import type { HistoryReader } from '../store/history.ts';
import type { TokenReader, TokenWriter } from '../store/tokens.ts';
import type { Answer, Handler, OperatorRequest } from './answer.ts';
import { listBackups, makeBackup } from './api/backups.ts';
import { showHistory } from './api/history.ts';
import { answerJson, refuse } from './api/json.ts';
import { type OverviewSources, showOverview } from './api/overview.ts';
import { exportPlants } from './api/plant-export.ts';
import { countPlants, searchPlants, showPlant } from './api/plants.ts';
import { beginSignIn, finishSignIn, type Provider, showProvider } from './api/provider-sign-in.ts';
import { listRequests, showRequest } from './api/requests.ts';
import { refuseOtherSites } from './api/same-origin.ts';
import {
  demandSession,
  isSignedIn,
  type OperatorLog,
  type SessionRequest,
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
import type { RunningHistory } from './metrics/history.ts';
import type { Samples } from './metrics/samples.ts';
import type { ReaderThread } from './reader.ts';
import type { RecentRequests } from './recent-requests.ts';
import { createRouter, type RoutedRequest, type RouteTable } from './router.ts';

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
export function openConsole(sources: ConsoleSources): Handler {
  const { sessions, store, samples, log, now, reader, requests, backups, history } = sources;
  const { files, scriptHashes } = openConsoleFiles();
  const withSession = demandSession(sessions);
  const operatorRoutes: RouteTable<SessionRequest> = {
    'GET /api/session': showSession,
    'DELETE /api/session': signOut(sessions),
    'GET /api/overview': showOverview(sources),
    'GET /api/samples': listSamples(samples),
    'GET /api/history': showHistory(store, history.begun, now),
    'GET /api/plants': searchPlants(reader),
    'GET /api/plants/count': countPlants(reader),
    'GET /api/plants/export': exportPlants(sources, isSignedIn(sessions)),
    'GET /api/plants/:id': showPlant(reader),
    'GET /api/requests': listRequests(requests, now),
    'GET /api/requests/:requestId': showRequest(requests),
    'GET /api/tokens': listTokens(sources),
    'POST /api/tokens': createToken(store, log, now),
    'PATCH /api/tokens': limitToken(store, log),
    'DELETE /api/tokens': revokeToken(store, log, now),
    'POST /api/tokens/inspection': inspectToken(sources),
    'POST /api/tokens/rotation': renewToken(store, log, now),
    'GET /api/backups': listBackups(backups),
    'POST /api/backups': makeBackup(backups),
  };
  // Without a session, every other path below /api answers 401, also an unknown path.
  const guarded = Object.entries(operatorRoutes).map(
    ([route, handle]): [string, Handler<RoutedRequest>] => [route, withSession(handle)],
  );
  const routes = { ...signInRoutes(sources), ...Object.fromEntries(guarded) };
  const answerApi = createRouter(routes, (methods) => withSession(missing(methods)));

  const answer = async (request: OperatorRequest): Promise<Answer> => {
    const { pathname } = request.url;
    if (pathname.startsWith('/api/'))
      return withoutCaching(refuseOtherSites(request) ?? (await answerApi(request)));
    const send = files.get(pathname);
    if (send && request.method === 'GET') return send(request);
    return missing(send ? ['GET'] : [])(request);
  };
  const common = securityHeaders(scriptHashes);
  return async (request) => {
    const answered = await answer(request).catch(refuseIfUnavailable);
    return { ...answered, headers: { ...common, ...answered.headers } };
  };
}

function signInRoutes({ provider, sessions, log }: ConsoleSources): RouteTable {
  const routes = {
    'POST /api/session': signIn(sessions, log),
    'GET /api/provider': showProvider(provider),
  };
  if (provider === undefined) return routes;
  return {
    ...routes,
    'GET /api/sign-in': beginSignIn(provider, log),
    [`GET /${callbackPath}`]: finishSignIn(provider, sessions, log),
  };
}

function listSamples(samples: Samples): Handler {
  return ({ query }) => {
    const after = Number(query['after'] ?? 0);
    return answerJson({ samples: samples.after(after) } satisfies SampleList);
  };
}

function withoutCaching(answer: Answer): Answer {
  return { ...answer, headers: { ...answer.headers, 'Cache-Control': 'no-store' } };
}

/** @param methods that the path takes */
function missing(methods: readonly string[]): Handler {
  return ({ url }) => {
    const path = excerpt(url.pathname);
    if (methods.length === 0) return refuse('pathUnknown', `There is nothing at ${path}.`);
    const allow = methods.join(', ').replace('GET', 'GET, HEAD');
    return refuse('methodNotAllowed', `${path} takes ${allow}.`, { Allow: allow });
  };
}

function refuseIfUnavailable(error: unknown): Answer {
  if (!(error instanceof StoreError) || error.failure !== 'unavailable') throw error;
  return refuse('storeUnavailable', `The store cannot do this now: ${error.message}.`);
}

/** Scripts, styles, images and data come from the listener only. */
function securityHeaders(scriptHashes: readonly string[]): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    `script-src 'self' ${scriptHashes.join(' ')}`,
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
  ];
  return {
    'Content-Security-Policy': policy.join('; '),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Origin-Agent-Cluster': '?1',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
  };
}
