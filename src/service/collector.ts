import { boundedFetch } from '../access/bounded-fetch.ts';
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
  try {
    const options: RequestInit = {
      ...{ method: 'POST', body, redirect: 'error' },
      headers: { 'Content-Type': 'application/json' },
      signal: closing === undefined ? timeout : AbortSignal.any([timeout, closing]),
    };
    const response = await boundedFetch(url, options, bounds.replyBytesMax);
    if (response.ok) return taken(await response.text());
    const reason = `the status is ${response.status}`;
    if (!passing.includes(response.status)) return { outcome: 'refused', reason };
    return { outcome: 'later', waitMs: waitMsOf(response, bounds), reason };
  } catch (error) {
    const reason = timeout.aborted ? `no reply within ${bounds.exportMs} ms` : reasonOf(error);
    return { outcome: 'later', waitMs: bounds.retryMs, reason };
  }
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
function waitMsOf({ headers }: Response, { retryMs, retryMsMax }: ExportBounds): number {
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return seconds > 0 ? Math.min(seconds * 1_000, retryMsMax) : retryMs;
}

/** `fetch` hides the reason in the cause. */
function reasonOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error
    ? cause.message || String((cause as { code?: unknown }).code)
    : message;
}
