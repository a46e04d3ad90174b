import { parseCookie, stringifySetCookie } from 'cookie';
import type { Sessions } from '../../access/sessions.ts';
import { limits } from '../../limits.ts';
import { type Answer, fieldOf, type Handler, type OperatorRequest } from '../answer.ts';
import type { Credentials, Session } from '../contract.ts';
import type { RoutedRequest } from '../router.ts';
import { createGuessLimit } from './guess-limit.ts';
import { answerJson, noContent, refuse, type Unchecked, withJson } from './json.ts';

export interface SessionRequest extends RoutedRequest {
  /** The name of the token that signed in. */
  readonly operator: string;
}

/** Records what operators do. No secret may go into it. */
export type OperatorLog = Record<'info' | 'warn', (fields: object, message: string) => void>;

const newToken = '"plant-store token create NAME --role operate" creates one.';

const guesses = {
  token: {
    problem: 'signInRefused',
    says: `This token is unknown, revoked or expired. ${newToken}`,
  },
  link: {
    problem: 'linkRefused',
    says: `This link was used already, or is older than ${limits.access.signInLinkMs / 1_000} s. "plant-store open" makes a new one.`,
  },
} as const;

/** Signs in the holder of a token with the role `operate`, or of a sign-in link. */
export function signIn(sessions: Sessions, log: OperatorLog): Handler {
  const countGuess = createGuessLimit();

  function refuseGuess(guessed: keyof typeof guesses): Answer {
    const waitMs = countGuess();
    if (waitMs > 0) {
      const headers = { 'Retry-After': `${Math.ceil(waitMs / 1_000)}` };
      const message = `There were too many wrong ${guessed}s.`;
      return refuse('signInsTooMany', message, headers);
    }
    log.warn({}, `a sign-in to the console with a wrong ${guessed} was refused`);
    const { problem, says } = guesses[guessed];
    return refuse(problem, says);
  }

  return withJson(async (request: OperatorRequest, { token, link }: Unchecked<Credentials>) => {
    if ((typeof token === 'string') === (typeof link === 'string'))
      return refuse('bodyWrong', 'Send a token as {"token": "ps_…"}, or {"link": "…"}.');
    const by = typeof link === 'string' ? 'link' : 'token';
    const session =
      by === 'link'
        ? await sessions.signInByLink(`${link}`)
        : await sessions.signIn(`${token}`.trim());
    if (session === 'unknown') return refuseGuess(by);
    if (session === 'not an operator')
      return refuse('notOperator', `This token may only create plants. ${newToken}`);
    log.info({ operator: session.name }, 'signed in to the console');
    return {
      ...answerJson({ name: session.name } satisfies Session),
      cookies: [sessionCookie(request, session.secret, isEncrypted(request))],
    };
  });
}

/** Refuses a request without a session, and tells `handle` whose session it is. */
export function demandSession(
  sessions: Sessions,
): (handle: Handler<SessionRequest>) => Handler<RoutedRequest> {
  return (handle) => async (request) => {
    const operator = await sessions.operatorOf(secretIn(request));
    if (operator === undefined) return refuse('notSignedIn', 'Sign in first.');
    return handle({ ...request, operator });
  };
}

/** Tells whether the session of a request is still good. */
export function isSignedIn(sessions: Sessions): (request: OperatorRequest) => Promise<boolean> {
  return async (request) => (await sessions.operatorOf(secretIn(request))) !== undefined;
}

export const showSession: Handler<SessionRequest> = ({ operator }) =>
  answerJson({ name: operator } satisfies Session);

export function signOut(sessions: Sessions): Handler {
  return async (request) => {
    await sessions.signOut(secretIn(request));
    const gone = stringifySetCookie(sessionCookieName(request), '', { path: '/', maxAge: 0 });
    return { ...noContent, cookies: [gone] };
  };
}

function secretIn(request: OperatorRequest): string {
  return cookieOf(request, sessionCookieName(request)) ?? '';
}

export function cookieOf(request: OperatorRequest, name: string): string | undefined {
  return parseCookie(request.fields.get('cookie')?.join('; ') ?? '')[name];
}

/** With the port: tunnels to several services share `localhost`, and so its cookies. */
function sessionCookieName({ url }: OperatorRequest): string {
  return `plant_store_session_${url.port || 'default'}`;
}

export function sessionCookie(request: OperatorRequest, secret: string, secure: boolean): string {
  const maxAge = limits.access.sessionMs / 1_000;
  const options = { httpOnly: true, sameSite: 'strict', path: '/', secure, maxAge } as const;
  return stringifySetCookie(sessionCookieName(request), secret, options);
}

/** `Origin` tells whether the browser uses https, which may end at a proxy. */
function isEncrypted(request: OperatorRequest): boolean {
  return fieldOf(request, 'origin')?.startsWith('https:') ?? false;
}
