import type { ErrorCode } from './error-code.ts';

/** What came of one request. */
export interface Outcome {
  readonly kind: 'stored' | 'refused' | 'failed';
  /** Whether the plant may be stored. */
  readonly isUnknown: boolean;
  readonly message: string;
  readonly status?: number;
  readonly code?: ErrorCode | undefined;
  readonly requestId?: string | undefined;
  readonly retryAfterMs?: number;
  readonly cause?: unknown;
}

/** Statuses with which the service says that the plant is not stored, and may be soon. */
const retriedStatuses = [408, 429];
/** Codes of 503 with which the service says that the plant is not stored: overloaded, shutting down. */
const notStoredCodes = [50300, 50302];
/** A failure of `fetch` before anything was sent, in the codes of Node, Deno and Bun. */
const notSentCode =
  /^(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ConnectionRefused|UND_ERR_CONNECT_TIMEOUT)$/;

/** An error reply is shorter. What a proxy sends beyond is not read. */
const replyCharsMax = 16_384;

/** Sends the request once. Never rejects. @param id what `Plant-Id` of the reply must be */
export async function attempt(
  send: typeof fetch,
  url: URL,
  request: { readonly headers: Headers; readonly body: string; readonly signal: AbortSignal },
  id: string,
): Promise<Outcome> {
  let reply: Response;
  try {
    // A redirect would turn the POST into a GET.
    reply = await send(url, { ...request, method: 'POST', redirect: 'manual' });
  } catch (cause) {
    return failureOf(request.signal.aborted ? request.signal.reason : cause);
  }
  // The head of a 200 is enough: the plant is stored, also if the rest of the reply gets lost.
  const text = await start(reply).catch(() => undefined);
  return outcomeOf(reply, text, id);
}

function failureOf(cause: unknown): Outcome {
  const { code, cause: inner } = (cause ?? {}) as { code?: string; cause?: { code?: string } };
  const isUnknown = !notSentCode.test(`${inner?.code ?? code}`);
  const reason = inner instanceof Error && inner.message ? inner : cause;
  const message = reason instanceof Error && reason.message ? reason.message : String(reason);
  return { kind: 'failed', isUnknown, message, cause };
}

/** @param text undefined if the reply was cut */
function outcomeOf(reply: Response, text: string | undefined, id: string): Outcome {
  const { status, headers } = reply;
  const { error: code, message } = errorOf(text ?? '');
  const storedId = headers.get('plant-id');
  const facts = {
    status,
    code,
    requestId: headers.get('x-request-id') ?? undefined,
    message: message ?? `HTTP status ${status}, not in the words of a plant store`,
  };
  if (status === 200 && storedId === id) return { ...facts, kind: 'stored', isUnknown: false };
  if (status === 200 && storedId !== null) {
    const wrong = `the service has stored the id ${storedId} instead of ${id}: something on the way has changed the body`;
    return { ...facts, kind: 'refused', isUnknown: false, message: wrong };
  }
  if ((status >= 300 && status < 400) || reply.type === 'opaqueredirect') {
    const redirected = `the address ${reply.url} redirects; give the client the address to which it leads`;
    return { ...facts, kind: 'refused', isUnknown: false, message: redirected };
  }
  const isNotStored = (status >= 400 && status < 500) || notStoredCodes.includes(code ?? 0);
  if (text === undefined)
    return { ...facts, kind: 'failed', isUnknown: !isNotStored, message: 'the reply was cut' };
  if (status >= 400 && status < 500 && !retriedStatuses.includes(status))
    return { ...facts, kind: 'refused', isUnknown: false };
  const retryAfterMs = retryAfter(headers.get('retry-after'));
  return { ...facts, kind: 'failed', isUnknown: !isNotStored, retryAfterMs };
}

async function start(reply: Response): Promise<string> {
  const reader = reply.body?.getReader();
  const decoder = new TextDecoder();
  let text = '';
  while (reader !== undefined) {
    const { value, done } = await reader.read();
    if (done) break;
    text += decoder.decode(value, { stream: true });
    if (text.length > replyCharsMax) await reader.cancel();
  }
  return text;
}

/** The members of an Error reply. Both are undefined if the text is something else. */
function errorOf(text: string): { error?: ErrorCode; message?: string } {
  try {
    const { error, message } = JSON.parse(text);
    return Number.isInteger(error) && typeof message === 'string' ? { error, message } : {};
  } catch {
    // A proxy answers with HTML, and half a reply is no JSON.
    return {};
  }
}

/** Milliseconds (RFC 9110 §10.2.3: seconds, or a date). */
function retryAfter(value: string | null): number {
  if (value === null) return 0;
  const ms = /^\d+$/.test(value) ? Number(value) * 1_000 : Date.parse(value) - Date.now();
  return Math.max(0, ms) || 0;
}
