import { excerpt } from '../contract/excerpt.ts';
import { limits } from '../limits.ts';
import { StoreError } from '../store/errors.ts';
import { type Answer, fieldOf, type Handler, type OperatorRequest } from './answer.ts';
import { type BackupControl, listBackups, makeBackup } from './api/backups.ts';
import { answerJson, refuse } from './api/json.ts';
import { type OverviewSources, showOverview } from './api/overview.ts';
import { searchPlants } from './api/plants.ts';
import {
  type SessionRequest,
  type SignInSources,
  secretIn,
  showSession,
  signIn,
  signInFirst,
  signOut,
} from './api/session.ts';
import {
  createToken,
  limitToken,
  listTokens,
  renewToken,
  revokeToken,
  type TokenSources,
} from './api/tokens.ts';
import { openConsoleFiles } from './console/files.ts';
import type { Configuration, RefusalList, SampleList, Setting } from './contract.ts';
import { packed } from './gzip.ts';
import { columnsOf, type Samples } from './metrics/samples.ts';
import type { ReaderThread } from './reader.ts';
import type { RefusedRequests } from './refused-requests.ts';

export interface ConsoleSources extends OverviewSources, SignInSources, TokenSources {
  readonly reader: ReaderThread;
  readonly samples: Samples;
  readonly backups: BackupControl | undefined;
  readonly refusedRequests: RefusedRequests;
  readonly settings: readonly Setting[];
}

/** The page of the console and its API: all but the probes. Rejects with any defect. */
export function openConsole(sources: ConsoleSources): Handler {
  const { sessions, samples, reader, backups, refusedRequests, settings } = sources;
  const { files, scriptHashes } = openConsoleFiles();
  const enter = signIn(sources);
  const routes: Readonly<Record<string, Handler<SessionRequest>>> = {
    'POST /api/session': enter,
    'GET /api/session': showSession,
    'DELETE /api/session': signOut(sessions),
    'GET /api/overview': showOverview(sources),
    'GET /api/samples': ({ query }) =>
      answerJson({
        samples: columnsOf(samples.after(Number(query['after'] ?? 0))),
        kept: limits.ops.samplesKept,
      } satisfies SampleList),
    'GET /api/plants': searchPlants(reader),
    'GET /api/refusals': ({ query }) =>
      answerJson({
        refusals: refusedRequests.after(query['after']),
        kept: limits.ops.refusalsKept,
      } satisfies RefusalList),
    'GET /api/tokens': listTokens(sources),
    'POST /api/tokens': createToken(sources),
    'DELETE /api/tokens': revokeToken(sources),
    'POST /api/tokens/rotation': renewToken(sources),
    'POST /api/tokens/rate': limitToken(sources),
    'GET /api/backups': listBackups(backups),
    'POST /api/backups': makeBackup(backups),
    'GET /api/configuration': () => answerJson({ settings } satisfies Configuration),
  };

  /** Without a session, every path but that of the sign-in answers 401, also an unknown path. */
  async function answerApi(request: OperatorRequest): Promise<Answer> {
    const path = request.url.pathname;
    const route = `${request.method} ${path}`;
    if (route === 'POST /api/session') return enter(request);
    const operator = await sessions.operatorOf(secretIn(request));
    if (operator === undefined) return refuse('notSignedIn', signInFirst);
    const handle = routes[route];
    if (handle) return handle({ ...request, operator });
    const lines = Object.keys(routes).map((line) => line.split(' '));
    const methods = lines.filter(([, place]) => place === path).map(([method = '']) => method);
    return missing(request, methods);
  }

  async function answer(request: OperatorRequest): Promise<Answer> {
    const { pathname } = request.url;
    if (pathname.startsWith('/api/'))
      return refuseOtherSites(request) ?? packed(request, await answerApi(request));
    const send = files.get(pathname);
    return send && request.method === 'GET' ? send(request) : missing(request, send ? ['GET'] : []);
  }

  const common = securityHeaders(scriptHashes);
  return async (request) => {
    const answered = await answer(request).catch(refuseIfUnavailable);
    return { ...answered, headers: { ...common, ...answered.headers } };
  };
}

/**
 * Refuses a request that changes something if a browser sent it for a page of another site. A
 * browser says so in `Sec-Fetch-Site` or `Origin`; the scheme in `Origin` may be that of a proxy.
 */
function refuseOtherSites(request: OperatorRequest): Answer | undefined {
  if (request.method === 'GET') return undefined;
  const site = fieldOf(request, 'sec-fetch-site') ?? 'none';
  const origin = fieldOf(request, 'origin');
  const isOwn = origin === undefined || URL.parse(origin)?.host === request.url.host;
  if (isOwn && (site === 'same-origin' || site === 'none')) return undefined;
  const message =
    'Only a page of this address may do this. A proxy must pass on the Host header unchanged.';
  return refuse('otherSite', message);
}

function missing({ url }: OperatorRequest, methods: readonly string[]): Answer {
  const path = excerpt(url.pathname);
  if (methods.length === 0) return refuse('pathUnknown', `There is nothing at ${path}.`);
  const allow = methods.join(', ').replace('GET', 'GET, HEAD');
  return refuse('methodNotAllowed', `${path} takes ${allow}.`, { Allow: allow });
}

function refuseIfUnavailable(error: unknown): Answer {
  if (!(error instanceof StoreError) || error.failure !== 'unavailable') throw error;
  return refuse('storeUnavailable', `The store cannot do this now: ${error.message}.`);
}

/** Scripts, styles, images and data come from the listener only. */
function securityHeaders(scriptHashes: readonly string[]): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    ["script-src 'self'", ...scriptHashes].join(' '),
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
    'Origin-Agent-Cluster': '?1',
    'Referrer-Policy': 'no-referrer',
    'X-Frame-Options': 'DENY',
  };
}
