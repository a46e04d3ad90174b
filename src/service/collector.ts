import { once } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { type Limits, limits } from '../limits.ts';

/**
 * What a collector has answered. `taken`: `refused` counts the spans that the collector does not
 * keep. `later`: the same spans may be sent again. `refused`: the same spans would be refused again.
 */
export type Export =
  | { readonly outcome: 'taken'; readonly refused: number; readonly reason: string }
  | { readonly outcome: 'later'; readonly waitMs: number; readonly reason: string }
  | { readonly outcome: 'refused'; readonly reason: string };

export type ExportBounds = Limits['trace'];

/** The statuses that OTLP/HTTP takes for passing. */
const passing: readonly number[] = [429, 502, 503, 504];

/**
 * Sends spans to a collector (OTLP/HTTP, "Request" and "Response").
 *
 * @param url with its path
 * @param body from `exportRequest`
 */
export async function sendSpans(
  url: string,
  body: string,
  bounds: ExportBounds = limits.trace,
  closing?: AbortSignal,
): Promise<Export> {
  const timeout = AbortSignal.timeout(bounds.exportMs);
  const signal = closing === undefined ? timeout : AbortSignal.any([timeout, closing]);
  try {
    const { status, headers, text } = await post(url, body, signal, bounds.replyBytesMax);
    if (status >= 200 && status < 300) return taken(text);
    const reason = `the status is ${status}`;
    if (!passing.includes(status)) return { outcome: 'refused', reason };
    return { outcome: 'later', waitMs: waitMsOf(headers, bounds), reason };
  } catch (error) {
    const { message, code } = error as NodeJS.ErrnoException;
    // A host with several addresses fails with a code only.
    const reason = message || `${code}`;
    const tooSlow = `no reply within ${bounds.exportMs} ms`;
    const { retryMs: waitMs } = bounds;
    return { outcome: 'later', waitMs, reason: timeout.aborted ? tooSlow : reason };
  }
}

/**
 * `fetch` would take 17 MB more, and twice the CPU time. An import of `node:http` loads `fetch`.
 *
 * @throws an error for the log
 */
async function post(url: string, body: string, signal: AbortSignal, replyBytesMax: number) {
  const http = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http');
  const headers = { 'Content-Type': 'application/json' };
  const sending = http.request(url, { method: 'POST', headers, signal });
  // A failure after the head of the reply is also an error of the reply.
  sending.on('error', () => undefined).end(body);
  const [response] = (await once(sending, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > replyBytesMax) throw new Error(`more than ${replyBytesMax} bytes`);
    chunks.push(chunk);
  }
  const text = Buffer.concat(chunks).toString();
  return { status: response.statusCode ?? 0, headers: response.headers, text };
}

/** An `ExportTraceServiceResponse`. Some collectors answer with less. */
function taken(text: string): Export {
  const { partialSuccess } = parsed(text) as { partialSuccess?: Record<string, unknown> };
  const refused = Number(partialSuccess?.['rejectedSpans'] ?? 0);
  const reason = String(partialSuccess?.['errorMessage'] ?? '');
  return { outcome: 'taken', refused: refused > 0 ? refused : 0, reason };
}

function parsed(text: string): object {
  try {
    return Object(JSON.parse(text));
  } catch {
    // The status has told what matters.
    return {};
  }
}

/** `Retry-After` in seconds, within bounds. */
function waitMsOf(headers: IncomingHttpHeaders, { retryMs, retryMsMax }: ExportBounds): number {
  const seconds = Number(headers['retry-after']);
  return seconds > 0 ? Math.min(seconds * 1_000, retryMsMax) : retryMs;
}
