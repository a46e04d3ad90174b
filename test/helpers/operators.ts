import assert from 'node:assert/strict';
import { until } from './pause.ts';
import type { RunningServer } from './program.ts';

export interface Answer {
  readonly status: number;
  /** The value of a reply in JSON, or the text of another one. */
  // biome-ignore lint/suspicious/noExplicitAny: what is in it, the tests say.
  readonly body: any;
  readonly headers: Headers;
}

export interface Asked {
  readonly cookie?: string;
  readonly json?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Asks the port for operators. @param request such as `GET api/plants` */
export async function ask(
  { opsUrl }: Pick<RunningServer, 'opsUrl'>,
  request: string,
  { cookie = '', json, headers = {} }: Asked = {},
): Promise<Answer> {
  const [method = '', path = ''] = request.split(' ');
  const type = json === undefined ? {} : { 'Content-Type': 'application/json' };
  const reply = await fetch(opsUrl + path, {
    method,
    headers: { Cookie: cookie, ...type, ...headers },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  const text = await reply.text();
  const body = text.startsWith('{') ? JSON.parse(text) : text;
  return { status: reply.status, body, headers: reply.headers };
}

/** On a busy machine, a test write of the service may be late. */
export function untilReady(server: Pick<RunningServer, 'opsUrl'>): Promise<Answer> {
  return until(
    () => ask(server, 'GET readyz'),
    ({ status }) => status === 200,
  );
}

/** @returns the cookie of an operator who has signed in */
export async function signIn(
  server: RunningServer,
  json: { readonly token: string } | { readonly link: string },
): Promise<string> {
  const answer = await ask(server, 'POST api/session', { json });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return cookieOf(answer);
}

export function cookieOf({ headers }: Answer): string {
  return /^[^;]+/.exec(headers.get('Set-Cookie') ?? '')?.[0] ?? assert.fail('no cookie');
}
