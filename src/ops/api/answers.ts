import { isUtf8 } from 'node:buffer';
import type { Context } from 'hono';
import type { ContentfulStatusCode } from 'hono/utils/http-status';
import { JsonFault, readJson } from '../../contract/json.ts';
import { type OperatorProblemName, operatorProblems } from '../../contract/operator-problems.ts';
import { errorText, type Problem } from '../../contract/problems.ts';
import { isJsonInUtf8 } from '../../http/content-headers.ts';

/** An error of the catalogue. */
export function refuse(
  context: Context,
  name: OperatorProblemName,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Response {
  const problem: Problem = operatorProblems[name];
  const fields = {
    'Content-Type': 'application/json',
    'Cache-Control': 'no-store',
    ...problem.headers,
    ...headers,
  };
  return context.body(errorText(problem, message), problem.status as ContentfulStatusCode, fields);
}

/** The JSON object in the body of the request, or the answer if there is none. */
export async function jsonObject(
  context: Context,
): Promise<Readonly<Record<string, unknown>> | Response> {
  const { req } = context;
  // A page of another site can send other types without asking first (fetch.spec.whatwg.org,
  // CORS-safelisted).
  if (
    !isJsonInUtf8([req.header('Content-Type') ?? '']) ||
    req.header('Content-Encoding') !== undefined
  ) {
    return refuse(
      context,
      'mediaTypeUnsupported',
      'Send the body as application/json, encoded as UTF-8 and not compressed.',
    );
  }
  const body = Buffer.from(await req.arrayBuffer());
  if (!isUtf8(body))
    return refuse(context, 'bodyMalformed', 'The body is not JSON: it is not valid UTF-8.');
  const text = body.toString();
  const json = readJson(text);
  if (json instanceof JsonFault)
    return refuse(context, 'bodyMalformed', `The body is not JSON: ${json.message}.`);
  return json.type === 'object'
    ? JSON.parse(text)
    : refuse(context, 'bodyWrong', 'The body must be one JSON object.');
}

/** ISO 8601, from milliseconds since the epoch. */
export function isoTime(ms: number): string;
export function isoTime(ms: number | undefined): string | null;
export function isoTime(ms: number | undefined): string | null {
  return ms === undefined ? null : new Date(ms).toISOString();
}
