import type { ErrorCode } from './error-code.ts';
import type { Facts } from './errors.ts';
import { limitSignal, within } from './signals.ts';

/** What came of one request. */
export interface Outcome extends Facts {
  /** `tokenless`: nothing was sent, for want of a token. */
  readonly kind: 'stored' | 'refused' | 'failed' | 'tokenless';
  /** Whether the plant may be stored. */
  readonly isUnknown: boolean;
  readonly message: string;
  readonly retryAfterMs?: number;
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

/** A reply to a plant that is stored may take this long to arrive in full. */
const tailMs = 1_000;

/** Sends the request once. Never rejects. @param id what `Plant-Id` of the reply must be */
export async function attempt(
  send: typeof fetch,
  url: URL,
  request: { readonly headers: Headers; readonly body: string; readonly signal: AbortSignal },
  id: bigint,
): Promise<Outcome> {
  const { signal } = request;
  try {
    // A redirect would turn the POST into a GET.
    const options = { ...request, method: 'POST', redirect: 'manual' } as const;
    const reply = await within(signal, () => send(url, options));
    // The head of a 200 is enough. The rest is read so that the connection can be used again.
    const isStored = idsOf(reply).every((stored) => stored === `${id}`) && reply.status === 200;
    const tail = isStored ? limitSignal(signal, tailMs, '') : undefined;
    const text = await within(tail?.signal ?? signal, () => start(reply)).catch(() => undefined);
    tail?.release();
    return outcomeOf(reply, text, id);
  } catch (cause) {
    return failureOf(signal.aborted ? signal.reason : cause, signal.aborted);
  }
}

/** @param wasEnded the cause is the reason of a signal: the request may have been sent */
function failureOf(cause: unknown, wasEnded: boolean): Outcome {
  const { code, cause: inner } = (cause ?? {}) as { code?: string; cause?: { code?: string } };
  const isUnknown = wasEnded || !notSentCode.test(`${inner?.code ?? code}`);
  return { kind: 'failed', isUnknown, message: textOf(inner) || textOf(cause), cause };
}

export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}

/** A proxy may have doubled the field. */
function idsOf({ headers }: Response): string[] {
  return headers.get('plant-id')?.split(/\s*,\s*/) ?? [''];
}

/** @param text undefined if the reply was cut */
function outcomeOf(reply: Response, text: string | undefined, id: bigint): Outcome {
  const { status, headers } = reply;
  const { error: code, message } = errorOf(text ?? '');
  const facts = {
    status,
    code,
    requestId: headers.get('x-request-id') ?? undefined,
    message: message ?? `HTTP status ${status}, not from a plant store`,
  };
  const [storedId] = idsOf(reply).filter((stored) => stored !== `${id}`);
  if (status === 200 && storedId === undefined)
    return { ...facts, kind: 'stored', isUnknown: false };
  if (status === 200 && storedId) {
    const wrong = `the reply is about the id ${storedId} instead of ${id}: the body was changed on the way`;
    return { ...facts, kind: 'refused', isUnknown: true, message: wrong };
  }
  if ((status >= 300 && status < 400) || reply.type === 'opaqueredirect') {
    const redirected = `${reply.url} redirects; use the address to which it leads`;
    return { ...facts, kind: 'refused', isUnknown: false, message: redirected };
  }
  const isNotStored = (status >= 400 && status < 500) || notStoredCodes.includes(code ?? 0);
  if (text === undefined)
    return { ...facts, kind: 'failed', isUnknown: !isNotStored, message: 'the reply was cut' };
  if (status >= 400 && status < 500 && !retriedStatuses.includes(status))
    return { ...facts, kind: 'refused', isUnknown: false };
  const retryAfterMs = retryAfter(headers.get('retry-after') ?? '');
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

/** Milliseconds (RFC 9110 §10.2.3: seconds, or a date; the longest of several). */
function retryAfter(value: string): number {
  const seconds = /^[\d\s,]+$/.test(value) ? Math.max(...value.split(',').map(Number)) : Number.NaN;
  const ms = Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1_000;
  return Math.max(0, ms) || 0;
}
