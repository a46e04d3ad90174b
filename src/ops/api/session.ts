import type { Context, MiddlewareHandler } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import type { Sessions } from '../../access/sessions.ts';
import { limits } from '../../limits.ts';
import { jsonObject, refuse } from './answers.ts';
import { countGuesses } from './guesses.ts';
import type { OperatorLog } from './log.ts';

/**
 * What the routes behind `demandSession` know: the name of the token that the operator has signed
 * in with.
 */
export interface SignedInEnv {
  Variables: { operator: string };
}

/**
 * Browsers send a cookie to all ports of a host, where others may be answered: over tunnels,
 * several services are at localhost.
 */
function cookieOf({ req }: Context): string {
  return `plant_store_session_${new URL(req.url).port || 'default'}`;
}

/** Signs in whoever has a token with the role `operate`. */
export function signIn(
  sessions: Sessions,
  log: OperatorLog,
): (context: Context) => Promise<Response> {
  const guesses = countGuesses();

  function refuseGuess(context: Context): Response {
    const waitMs = guesses.note();
    if (waitMs > 0) {
      const headers = { 'Retry-After': `${Math.ceil(waitMs / 1_000)}` };
      return refuse(
        context,
        'signInsTooMany',
        'There were too many wrong tokens. Wait a little.',
        headers,
      );
    }
    log.warn({}, 'somebody has tried to sign in to the console with a wrong token');
    return refuse(
      context,
      'signInRefused',
      'This token is unknown, revoked or expired. "plant-store token create NAME --role operate" makes one.',
    );
  }

  return async (context) => {
    const body = await jsonObject(context);
    if (body instanceof Response) return body;
    const { token } = body;
    if (typeof token !== 'string')
      return refuse(context, 'bodyWrong', 'Send the token as {"token": "ps_…"}.');
    const signedIn = await sessions.signIn(token.trim());
    if (signedIn === 'unknown') return refuseGuess(context);
    if (signedIn === 'not an operator') {
      return refuse(
        context,
        'notOperator',
        'This token may only create plants. "plant-store token create NAME --role operate" makes another.',
      );
    }
    log.info({ operator: signedIn.name }, 'signed in to the console');
    setCookie(context, cookieOf(context), signedIn.secret, cookieOptions(context));
    return context.json({ name: signedIn.name });
  };
}

/** A browser says in `Origin` whether it came by https, which a proxy may have taken off. */
function cookieOptions(context: Context): Parameters<typeof setCookie>[3] {
  const secure = context.req.header('Origin')?.startsWith('https:') ?? false;
  return {
    httpOnly: true,
    sameSite: 'Strict',
    path: '/',
    secure,
    maxAge: limits.access.sessionMs / 1_000,
  };
}

export function demandSession(sessions: Sessions): MiddlewareHandler<SignedInEnv> {
  return async (context, next) => {
    const operator = await sessions.operatorOf(getCookie(context, cookieOf(context)) ?? '');
    if (operator === undefined) return refuse(context, 'notSignedIn', 'Sign in first.');
    context.set('operator', operator);
    return next();
  };
}

export function signOut(sessions: Sessions): (context: Context) => Promise<Response> {
  return async (context) => {
    await sessions.signOut(getCookie(context, cookieOf(context)) ?? '');
    deleteCookie(context, cookieOf(context), { path: '/' });
    return context.body(null, 204);
  };
}
