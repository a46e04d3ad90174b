import { type ProblemName, problemNames, problems } from '../../contract/problems.ts';
import { startOfRequestId } from '../../http/exchange.ts';
import { limits } from '../../limits.ts';
import type { Handler } from '../answer.ts';
import type { RequestList, RequestRecord } from '../contract.ts';
import {
  type ByKind,
  byKind,
  type RecentRequest,
  type RecentRequests,
  type RequestLog,
  type RequestTrace,
  requestKinds,
  type TracedRefusal,
} from '../recent-requests.ts';
import type { RoutedRequest } from '../router.ts';
import { answerJson, isoTime, refuse } from './json.ts';
import { flagFrom } from './plant-query.ts';

/** The last refusals, and with `creates=true` a sample of the accepted creates of the last minute. */
export function listRequests(recent: RecentRequests, now: () => number): Handler {
  return async (request) => {
    const query = parseQuery(request.query);
    if (typeof query === 'string') return refuse('queryWrong', query);
    const logs = await recent.read();
    return answerJson(listOf(logs, query, now()) satisfies RequestList);
  };
}

export function showRequest(recent: RecentRequests): Handler<RoutedRequest> {
  return async ({ params }) => {
    const { requestId = '' } = params;
    const logs = await recent.read();
    const known = requestKinds.flatMap((kind) => logs[kind].after(0).map(({ entry }) => entry));
    const found = known.find((entry) => entry.requestId === requestId);
    if (found) return answerJson(recordOf(found));
    const trace = await recent.traceOf(requestId);
    if (trace?.refusal) return answerJson(recordOf(withoutMessage(requestId, trace.refusal)));
    return refuse('requestUnknown', fateOf(requestId, trace));
  };
}

function withoutMessage(
  requestId: string,
  { atMs, problem, sender }: TracedRefusal,
): RecentRequest {
  const message = 'The service has forgotten the message. The body of the reply has it.';
  const unknown = { cause: undefined, client: '', line: '' };
  return { atMs, requestId, outcome: problem, message, sender, ...unknown };
}

/** What can be said of a request that is not among the remembered refusals. */
function fateOf(requestId: string, trace: RequestTrace | undefined): string {
  const unknown = 'The service remembers no request with this id';
  const search =
    'Search the log of the service for the id: the log has all failures, and with --log-level debug all refusals.';
  if (trace === undefined) {
    const start = startOfRequestId(requestId);
    if (start === undefined) return `${unknown}. Check the id. ${search}`;
    return `${unknown}. The process that has given the id was started at ${isoTime(start.getTime())}: it is another node, or has ended since, and a restart forgets refusals. The history of the last 24 hours still has the refusals of each client by minute and code. ${search}`;
  }
  if (!trace.isGiven) return 'The service has not given this id to a request. Check the id.';
  const came = whenCame(trace);
  if (trace.isCertain)
    return `The service has not refused this request${came && `, which ${came}`}: it was accepted, or it has no reply yet.${plantsThen(trace)}`;
  return `${unknown}${came && `. The request ${came}`}. It was accepted, or its refusal was forgotten for newer refusals. The body of the reply has told the client the code and the message. ${search}`;
}

/** How to see the plants of that time, with a margin for the commit. */
function plantsThen({ afterMs, beforeMs }: RequestTrace): string {
  if (!Number.isFinite(afterMs) || !Number.isFinite(beforeMs)) return '';
  const [since, until] = [isoTime(afterMs - marginMs), isoTime(beforeMs + marginMs)];
  return ` The plants of that time: plant-store plants list --newest --details --since ${since} --until ${until}`;
}

const marginMs = 1_000;

/** Each HTTP thread numbers its requests, so the refusals around this one tell its time. */
function whenCame({ afterMs, beforeMs }: RequestTrace): string {
  const [from, to] = [afterMs, beforeMs].map((ms) => Number.isFinite(ms) && isoTime(ms));
  if (from && to) return `came between ${from} and ${to}`;
  if (to) return `came before ${to}`;
  return from ? `can only have come after ${from}` : '';
}

interface Query {
  /** What a reader knows: so many requests of each kind since the start of this service. */
  readonly after: ByKind<number> | undefined;
  readonly problem: ProblemName | undefined;
  readonly sender: string | undefined;
  /** Undefined: requests with and without a valid token. */
  readonly validToken: boolean | undefined;
  readonly creates: boolean;
  readonly limit: number;
}

/** An empty field counts as absent. @returns a message if the query is wrong */
function parseQuery(query: Readonly<Record<string, string>>): Query | string {
  const { requestsDefault, refusalsKept, senderCharsMax } = limits.ops;
  const { after, code, token, limit: limitText = `${requestsDefault}` } = query;
  const position = after ? positionFrom(after) : undefined;
  if (position === 'malformed') return '`after` must be the `next` of an earlier reply.';
  const problem = problemNames.find((name) => `${problems[name].code}` === code);
  if (code && problem === undefined)
    return '`code` must be an error code for clients, such as 40004.';
  if (token && token.length > senderCharsMax)
    return `\`token\` has at most ${senderCharsMax} characters.`;
  const creates = flagFrom(query, 'creates');
  if (typeof creates === 'string') return creates;
  const validToken = query['validToken'] ? flagFrom(query, 'validToken') : undefined;
  if (typeof validToken === 'string') return validToken;
  const limit = /^[0-9]{1,4}$/.test(limitText) ? Number(limitText) : 0;
  if (limit < 1 || limit > refusalsKept)
    return `\`limit\` must be a whole number from 1 to ${refusalsKept}.`;
  const sender = token || undefined;
  return { after: position, problem, sender, validToken, creates, limit };
}

/** Tells one run of the service from another, whose requests have other numbers. */
const run = Math.round(performance.timeOrigin).toString(36);

function positionFrom(text: string): Query['after'] | 'malformed' {
  const [, ofRun, ...counts] =
    /^([0-9a-z]{1,12})-(\d{1,15})-(\d{1,15})-(\d{1,15})$/.exec(text) ?? [];
  if (ofRun === undefined) return 'malformed';
  if (ofRun !== run) return undefined;
  return byKind((kind) => Number(counts[requestKinds.indexOf(kind)]));
}

/** The token of a request may have a name, and be revoked or expired. */
function hasValidToken({ outcome, sender }: RecentRequest): boolean {
  return sender !== undefined && outcome !== 'tokenInvalid';
}

function listOf(
  logs: ByKind<RequestLog>,
  { after, validToken, ...query }: Query,
  nowMs: number,
): RequestList {
  const isWanted = (request: RecentRequest) =>
    (query.problem === undefined || request.outcome === query.problem) &&
    (query.sender === undefined || request.sender === query.sender) &&
    (validToken === undefined || hasValidToken(request) === validToken);
  const refusals = [since(logs.known, after?.known), since(logs.unknown, after?.unknown)];
  const shownFromMs = nowMs - limits.ops.createsShownMs;
  const creates = query.creates
    ? since(logs.creates, after?.creates).told.filter(({ atMs }) => atMs >= shownFromMs)
    : [];
  const all = [...refusals.flatMap(({ told }) => told), ...creates].filter(isWanted);
  const forgotten = refusals.reduce((sum, one) => sum + one.forgotten, 0);
  const leftOut = Math.max(0, all.length - query.limit);
  return {
    requests: all
      .sort((one, other) => other.atMs - one.atMs)
      .slice(0, query.limit)
      .map(recordOf),
    next: [run, ...requestKinds.map((kind) => logs[kind].made)].join('-'),
    missed: after ? forgotten + leftOut : 0,
  };
}

/** Newest first, as far as they are kept, and how many are forgotten. */
function since(log: RequestLog, after = 0) {
  const told = log
    .after(after)
    .map(({ entry }) => entry)
    .reverse();
  return { told, forgotten: Math.max(0, log.made - after) - told.length };
}

const acceptedMessages = {
  created: 'The plant was stored.',
  same: 'The same plant was stored before, and nothing was written.',
} as const;

function recordOf({ atMs, requestId, outcome, ...request }: RecentRequest): RequestRecord {
  const [method = '', path = ''] = request.line.split(' ');
  const { senderCharsMax } = limits.ops;
  const common = {
    at: isoTime(atMs),
    requestId,
    token: request.sender?.slice(0, senderCharsMax) ?? null,
    client: request.client,
    method: method || null,
    path: path || null,
  };
  if (outcome === 'created' || outcome === 'same')
    return {
      ...{ ...common, status: 200, code: null, outcome },
      ...{ message: acceptedMessages[outcome], cause: null },
    };
  const { status, code } = problems[outcome];
  const kind = status >= 500 ? 'failed' : 'refused';
  const { message, cause = null } = request;
  return { ...common, status, code, outcome: kind, message, cause };
}
