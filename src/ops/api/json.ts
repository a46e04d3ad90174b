import { isUtf8 } from 'node:buffer';
import { readJson } from '../../contract/json.ts';
import { isJsonInUtf8 } from '../../contract/media-type.ts';
import { type OperatorProblemName, operatorProblems } from '../../contract/operator-problems.ts';
import { errorText, type Problem } from '../../contract/problems.ts';
import type { Answer, Handler, OperatorRequest } from '../answer.ts';

const json = { 'Content-Type': 'application/json' };

export function answerJson(value: object, status = 200): Answer {
  return { status, headers: json, body: JSON.stringify(value) };
}

export const noContent: Answer = { status: 204, headers: {}, body: '' };

/** The reply for an error of the catalogue. */
export function refuse(
  name: OperatorProblemName,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  const problem: Problem = operatorProblems[name];
  return {
    status: problem.status,
    headers: { ...json, ...problem.headers, ...headers },
    body: errorText(problem, message),
  };
}

/** The members of a JSON object, not checked. */
export type Unchecked<Body> = { readonly [Name in keyof Body]?: unknown };

/** Refuses a body that is not the right JSON object. @param parse returns what is wrong */
export function withJson<Request extends OperatorRequest, Body, Wish extends object>(
  parse: (body: Unchecked<Body>) => Wish | string,
  handle: (request: Request, wish: Wish) => Answer | Promise<Answer>,
): Handler<Request> {
  return (request) => {
    // A page of another site can send other types without a preflight request
    // (fetch.spec.whatwg.org, CORS-safelisted).
    if (!isJsonInUtf8(request.fields.get('content-type')) || request.fields.has('content-encoding'))
      return refuse('mediaTypeUnsupported', notJson);
    if (!isUtf8(request.body)) return refuseMalformed('it is not valid UTF-8');
    const text = request.body.toString();
    const json = readJson(text);
    if (typeof json === 'string') return refuseMalformed(json);
    if (json.type !== 'object') return refuse('bodyWrong', 'The body must be one JSON object.');
    const wish = parse(JSON.parse(text));
    return typeof wish === 'string' ? refuse('bodyWrong', wish) : handle(request, wish);
  };
}

const notJson = 'Send the body as application/json, encoded as UTF-8 and not compressed.';

function refuseMalformed(why: string): Answer {
  return refuse('bodyMalformed', `The body is not JSON: ${why}.`);
}
