import { isUtf8 } from 'node:buffer';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { JsonFault, readJson } from '../../contract/json.ts';
import { type OperatorProblemName, operatorProblems } from '../../contract/operator-problems.ts';
import { errorText, type Problem } from '../../contract/problems.ts';
import { isJsonInUtf8 } from '../../http/content-headers.ts';

/** The reply for an error of the catalogue. */
export function refuse(
  context: Context,
  name: OperatorProblemName,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const problem: Problem = operatorProblems[name];
  const type = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
  return context.body(errorText(problem, message), problem.status as ContentfulStatusCode, {
    ...type,
    ...problem.headers,
    ...headers,
  });
}

/** The members of the JSON object in the request's body, not checked further; or a refusal. */
export async function jsonObject<Body>(
  context: Context,
): Promise<{ readonly [Name in keyof Body]?: unknown } | Response> {
  const { req } = context;
  const type = [req.header('Content-Type') ?? ''];
  // A page of another site can send other types without a preflight request
  // (fetch.spec.whatwg.org, CORS-safelisted).
  if (!isJsonInUtf8(type) || req.header('Content-Encoding') !== undefined) {
    const message = 'Send the body as application/json, encoded as UTF-8 and not compressed.';
    return refuse(context, 'mediaTypeUnsupported', message);
  }
  const malformed = (why: string) =>
    refuse(context, 'bodyMalformed', `The body is not JSON: ${why}.`);
  const body = Buffer.from(await req.arrayBuffer());
  if (!isUtf8(body)) return malformed('it is not valid UTF-8');
  const text = body.toString();
  const json = readJson(text);
  if (json instanceof JsonFault) return malformed(json.message);
  if (json.type === 'object') return JSON.parse(text);
  return refuse(context, 'bodyWrong', 'The body must be one JSON object.');
}

/** @param ms since the epoch */
export function isoTime(ms: number): string;
export function isoTime(ms: number | undefined): string | null;
export function isoTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
