import { limits } from '../../limits.ts';
import { dayMs } from '../../quantity-text.ts';
import { rateLimiterIn, rateLimitMemory } from '../../tokens/rate-limit.ts';
import type { Sessions } from '../../tokens/sessions.ts';
import { type Answer, fieldOf, type Handler, type OperatorRequest } from '../answer.ts';
import type { Credentials, Session } from '../contract.ts';
import { answerJson, noContent, refuse, type Unchecked, withJson } from './json.ts';

export interface SessionRequest extends OperatorRequest {
  /** The name of the token that signed in. */
  readonly operator: string;
}

/** Records what operators do. No secret may go into it. */
export type OperatorLog = Record<'info' | 'warn', (fields: object, message: string) => void>;

export interface SignInSources {
  readonly sessions: Sessions;
  readonly log: OperatorLog;
}

// A stranger can read them, so they do not say where the store is.
const newToken = '"plant-store token create NAME --role operate --store STORE"';
const newLink = '"plant-store open --store STORE"';

/** What a request without a session is told. */
export const signInFirst =
  `On the machine of the service, ${newLink} signs in without a token, and ${newToken} creates ` +
  'a token. STORE is the store of the service, and "open" also takes its --ops-port.';

const linkSeconds = limits.access.signInLinkMs / 1_000;

/**
 * Of wrong tokens, shared by all callers: behind a proxy all have one address. A right token is
 * always admitted, so no attacker can lock the operators out. The limit bounds the log, not
 * guessing: a token has 256 random bits.
 */
const guessRate = {
  perDay: dayMs / limits.ops.guessEveryMs,
  burst: limits.ops.guessesAtOnce,
};

/** Signs in the holder of a token with the role `operate`, or of a sign-in link. */
export function signIn({ sessions, log }: SignInSources): Handler {
  const guessing = rateLimiterIn(rateLimitMemory());
  /** By what was wrong. */
  const guesses = {
    token: ['signInRefused', `This token is unknown, revoked or expired. ${newToken} creates one.`],
    link: [
      'linkRefused',
      `This link was used already, or is older than ${linkSeconds} s. ${newLink} makes one.`,
    ],
  } as const;

  function refuseGuess(guessed: keyof typeof guesses): Answer {
    const waitMs = guessing.tryTake(0, guessRate);
    if (waitMs > 0)
      return refuse('signInsTooMany', `There were too many wrong ${guessed}s.`, {
        'Retry-After': `${Math.ceil(waitMs / 1_000)}`,
      });
    log.warn({}, `a sign-in to the console with a wrong ${guessed} was refused`);
    const [problem, says] = guesses[guessed];
    return refuse(problem, says);
  }

  return withJson(parseCredentials, async (request: OperatorRequest, { token, link = '' }) => {
    const session = await (token === undefined
      ? sessions.signInByLink(link)
      : sessions.signIn(token.trim()));
    if (session === 'not in force') return refuseGuess(token === undefined ? 'link' : 'token');
    if (session === 'not an operator')
      return refuse(
        'notOperator',
        `This token may only create plants. ${newToken} creates another.`,
      );
    log.info({ operator: session.name }, 'signed in to the console');
    const answer = answerJson({ name: session.name } satisfies Session);
    return withCookie(answer, sessionCookie(request, session.secret));
  });
}

function parseCredentials({ token, link }: Unchecked<Credentials>): Credentials | string {
  if (typeof token === 'string' && typeof link !== 'string') return { token };
  if (typeof link === 'string' && typeof token !== 'string') return { link };
  return 'Send a token as {"token": "ps_…"}, or {"link": "…"}.';
}

export const showSession: Handler<SessionRequest> = ({ operator }) =>
  answerJson({ name: operator } satisfies Session);

export function signOut(sessions: Sessions): Handler {
  return async (request) => {
    await sessions.signOut(secretIn(request));
    return withCookie(noContent, `${cookieName(request)}=; Path=/; Max-Age=0`);
  };
}

function withCookie(answer: Answer, cookie: string): Answer {
  return { ...answer, headers: { ...answer.headers, 'Set-Cookie': cookie } };
}

/** A secret is base64url, so its cookie needs no quoting (RFC 6265 §4.1.1). */
export function secretIn(request: OperatorRequest): string {
  const cookies = request.fields.get('cookie')?.join('; ').split('; ') ?? [];
  const name = `${cookieName(request)}=`;
  return cookies.find((cookie) => cookie.startsWith(name))?.slice(name.length) ?? '';
}

/** With the port: tunnels to several services share `localhost`, and so its cookies. */
function cookieName({ url }: OperatorRequest): string {
  return `plant_store_session_${url.port || 'default'}`;
}

function sessionCookie(request: OperatorRequest, secret: string): string {
  const maxAgeSeconds = limits.access.sessionMs / 1_000;
  const attributes = `Max-Age=${maxAgeSeconds}; Path=/; HttpOnly; SameSite=Strict`;
  // Where TLS ends at a proxy, `Origin` tells that the browser uses https.
  const isSecure =
    request.url.protocol === 'https:' || fieldOf(request, 'origin')?.startsWith('https:');
  return `${cookieName(request)}=${secret}; ${attributes}${isSecure ? '; Secure' : ''}`;
}
