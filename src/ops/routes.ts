import type { Sessions } from '../access/sessions.ts';
import { excerpt } from '../contract/excerpt.ts';
import { StoreError } from '../store/errors.ts';
import type { TokenReader, TokenWriter } from '../store/tokens.ts';
import type { Answer, Handler, OperatorRequest } from './answer.ts';
import { listBackups, makeBackup } from './api/backups.ts';
import { answerJson, refuse } from './api/json.ts';
import { type OverviewSources, showOverview } from './api/overview.ts';
import { countPlants, searchPlants, showPlant } from './api/plants.ts';
import { refuseOtherSites } from './api/same-origin.ts';
import {
  demandSession,
  type OperatorLog,
  type SessionRequest,
  showSession,
  signIn,
  signOut,
} from './api/session.ts';
import { createToken, limitToken, listTokens, renewToken, revokeToken } from './api/tokens.ts';
import type { BackupDesk } from './backup-desk.ts';
import { openConsoleFiles } from './console/files.ts';
import type { Configuration, RefusalList, SampleList, Setting } from './contract.ts';
import type { Samples } from './metrics/samples.ts';
import type { ReaderThread } from './reader.ts';
import type { RefusedRequests } from './refused-requests.ts';
import { createRouter, type RoutedRequest, type RouteTable } from './router.ts';

export interface ConsoleSources extends OverviewSources {
  readonly sessions: Sessions;
  readonly store: TokenReader & TokenWriter;
  readonly reader: ReaderThread;
  readonly samples: Samples;
  /** Undefined: there is no folder for backups. */
  readonly backups: BackupDesk | undefined;
  readonly refusedRequests: RefusedRequests;
  readonly settings: readonly Setting[];
  readonly log: OperatorLog;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** The page of the console and its API: all but the probes. Rejects with any defect. */
export function openConsole(sources: ConsoleSources): Handler {
  const { sessions, store, samples, log, now, reader, backups } = sources;
  const { files, scriptHashes } = openConsoleFiles();
  const withSession = demandSession(sessions);
  const operatorRoutes: RouteTable<SessionRequest> = {
    'GET /api/session': showSession,
    'DELETE /api/session': signOut(sessions),
    'GET /api/overview': showOverview(sources),
    'GET /api/samples': listSamples(samples),
    'GET /api/plants': searchPlants(reader),
    'GET /api/plants/count': countPlants(reader),
    'GET /api/plants/:id': showPlant(reader),
    'GET /api/refusals': listRefusals(sources.refusedRequests),
    'GET /api/tokens': listTokens(sources),
    'POST /api/tokens': createToken(store, log, now),
    'PATCH /api/tokens': limitToken(store, log),
    'DELETE /api/tokens': revokeToken(store, log, now),
    'POST /api/tokens/rotation': renewToken(store, log, now),
    'GET /api/backups': listBackups(backups),
    'POST /api/backups': makeBackup(backups),
    'GET /api/configuration': showConfiguration(sources.settings),
  };
  // Without a session, every other path below /api answers 401, also an unknown path.
  const guarded = Object.entries(operatorRoutes).map(
    ([route, handle]): [string, Handler<RoutedRequest>] => [route, withSession(handle)],
  );
  const routes = {
    'POST /api/session': signIn(sessions, log),
    ...Object.fromEntries(guarded),
  };
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

function listSamples(samples: Samples): Handler {
  return ({ query }) => {
    const after = Number(query['after'] ?? 0);
    return answerJson({ samples: samples.after(after) } satisfies SampleList);
  };
}

function listRefusals(refused: RefusedRequests): Handler {
  return ({ query }) =>
    answerJson({ refusals: refused.after(query['after']) } satisfies RefusalList);
}

function showConfiguration(settings: readonly Setting[]): Handler {
  return () => answerJson({ settings } satisfies Configuration);
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
