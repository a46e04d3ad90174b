import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { limits } from '../../limits.ts';

/** An error in the shape that all of the service have. Its code is the status times 100, and a detail. */
export function refuse(context: Context, code: number, message: string, headers: Record<string, string> = {}): Response {
  return context.json({ error: code, message }, Math.floor(code / 100) as ContentfulStatusCode, headers);
}

/** The JSON object in the body of the request, or the answer if there is none. */
export async function jsonObject(context: Context): Promise<Readonly<Record<string, unknown>> | Response> {
  // A page of another site can send other types without asking first (fetch.spec.whatwg.org, CORS-safelisted).
  if (!/^application\/json\s*(;|$)/i.test(context.req.header('Content-Type') ?? '')) {
    return refuse(context, 41500, 'Send the body as application/json.');
  }
  const text = await bodyText(context.req.raw);
  if (text === undefined) return refuse(context, 41300, `A body has at most ${limits.opsBodyBytesMax} bytes.`);
  const body = parsed(text);
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Record<string, unknown>;
  return refuse(context, 40000, 'The body must be one JSON object.');
}

/** Undefined if it is too large. */
async function bodyText({ body }: Request): Promise<string | undefined> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of body ?? []) {
      bytes += chunk.length;
      if (bytes > limits.opsBodyBytesMax) return undefined;
      chunks.push(chunk);
    }
  } catch {
    // The caller has gone in the middle of it, and sees no answer: no defect of the service.
    return '';
  }
  return Buffer.concat(chunks).toString();
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // It is no object either.
    return undefined;
  }
}

/** ISO 8601, from milliseconds since the epoch. */
export function isoTime(ms: number): string;
export function isoTime(ms: number | undefined): string | null;
export function isoTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
