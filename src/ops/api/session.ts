import type { Context, Handler, MiddlewareHandler } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Sessions } from '../../access/sessions.ts';
import { limits } from '../../limits.ts';
import type { Credentials, Session } from '../contract.ts';
import { createGuessLimit } from './guess-limit.ts';
import { jsonObject, refuse } from './json.ts';

/** What the handlers behind `demandSession` know: the name of the token that signed in. */
export interface OperatorEnv {
  Variables: { operator: string };
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

  function refuseGuess(context: Context, guessed: keyof typeof guesses): Response {
    const waitMs = countGuess();
    if (waitMs > 0) {
      const headers = { 'Retry-After': `${Math.ceil(waitMs / 1_000)}` };
      const message = `There were too many wrong ${guessed}s.`;
      return refuse(context, 'signInsTooMany', message, headers);
    }
    log.warn({}, `a sign-in to the console with a wrong ${guessed} was refused`);
    const { problem, says } = guesses[guessed];
    return refuse(context, problem, says);
  }

  return async (context) => {
    const body = await jsonObject<Credentials>(context);
    if (body instanceof Response) return body;
    const { token, link } = body;
    if ((typeof token === 'string') === (typeof link === 'string'))
      return refuse(context, 'bodyWrong', 'Send a token as {"token": "ps_…"}, or {"link": "…"}.');
    const by = typeof link === 'string' ? 'link' : 'token';
    const session =
      by === 'link'
        ? await sessions.signInByLink(`${link}`)
        : await sessions.signIn(`${token}`.trim());
    if (session === 'unknown') return refuseGuess(context, by);
    if (session === 'not an operator')
      return refuse(context, 'notOperator', `This token may only create plants. ${newToken}`);
    log.info({ operator: session.name }, 'signed in to the console');
    keepSession(context, session.secret, isEncrypted(context));
    return context.json({ name: session.name } satisfies Session);
  };
}

export function demandSession(sessions: Sessions): MiddlewareHandler<OperatorEnv> {
  return async (context, next) => {
    const operator = await sessions.operatorOf(secretIn(context));
    if (operator === undefined) return refuse(context, 'notSignedIn', 'Sign in first.');
    context.set('operator', operator);
    return next();
  };
}

/** Tells whether the session of a request is still good. */
export function isSignedIn(sessions: Sessions): (context: Context) => Promise<boolean> {
  return async (context) => (await sessions.operatorOf(secretIn(context))) !== undefined;
}

export const showSession: Handler<OperatorEnv> = (context) =>
  context.json({ name: context.get('operator') } satisfies Session);

export function signOut(sessions: Sessions): Handler {
  return async (context) => {
    await sessions.signOut(secretIn(context));
    deleteCookie(context, cookieName(context), { path: '/' });
    return context.body(null, 204);
  };
}

function secretIn(context: Context): string {
  return getCookie(context, cookieName(context)) ?? '';
}

/** With the port: tunnels to several services share `localhost`, and so its cookies. */
function cookieName({ req }: Context): string {
  return `plant_store_session_${new URL(req.url).port || 'default'}`;
}

/** Sets the cookie of the session. */
export function keepSession(context: Context, secret: string, secure: boolean): void {
  const maxAge = limits.access.sessionMs / 1_000;
  const options = { httpOnly: true, sameSite: 'Strict', path: '/', secure, maxAge } as const;
  setCookie(context, cookieName(context), secret, options);
}

/** `Origin` tells whether the browser uses https, which may end at a proxy. */
function isEncrypted(context: Context): boolean {
  return context.req.header('Origin')?.startsWith('https:') ?? false;
}
