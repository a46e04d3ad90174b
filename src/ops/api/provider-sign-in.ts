import { stringifySetCookie } from 'cookie';
import { type ProviderSignIn, SignInError, type SignInSecrets } from '../../access/provider.ts';
import type { Sessions } from '../../access/sessions.ts';
import { limits } from '../../limits.ts';
import type { Answer, Handler, OperatorRequest } from '../answer.ts';
import type { SignInProvider } from '../contract.ts';
import { answerJson } from './json.ts';
import { cookieOf, type OperatorLog, sessionCookie } from './session.ts';

export interface Provider {
  readonly issuer: string;
  /** Whether browsers reach the console by https. */
  readonly isEncrypted: boolean;
  readonly signIn: ProviderSignIn;
}

/** Tells the page whether operators can sign in at an identity provider. */
export function showProvider(provider: Provider | undefined): Handler {
  return () => answerJson({ issuer: provider?.issuer ?? null } satisfies SignInProvider);
}

/** The first step: sends the browser to the provider. */
export function beginSignIn({ signIn, isEncrypted }: Provider, log: OperatorLog): Handler {
  return async (request) => {
    try {
      const { url, secrets } = await signIn.begin();
      const cookie = stringifySetCookie(cookieName(request), textOf(secrets), {
        httpOnly: true,
        // The browser comes back from another site.
        sameSite: 'lax',
        path: cookiePath,
        secure: isEncrypted,
        maxAge: limits.ops.providerSignInMs / 1_000,
      });
      return redirection(`${url}`, [cookie]);
    } catch (error) {
      return backToPage(error, log);
    }
  };
}

/** The second step: the provider has sent the browser back. */
export function finishSignIn(
  { signIn, isEncrypted }: Provider,
  sessions: Sessions,
  log: OperatorLog,
): Handler {
  return async (request) => {
    const secrets = secretsIn(cookieOf(request, cookieName(request)));
    const gone = stringifySetCookie(cookieName(request), '', { path: cookiePath, maxAge: 0 });
    try {
      if (secrets === undefined)
        throw new SignInError('refused', 'the browser has not begun this sign-in, or too long ago');
      const name = await signIn.finish(request.url.search, secrets);
      const session = await sessions.signInSubject(name);
      log.info({ operator: name }, 'signed in to the console by the identity provider');
      return redirection('/', [gone, sessionCookie(request, session.secret, isEncrypted)]);
    } catch (error) {
      return backToPage(error, log, [gone]);
    }
  };
}

/** The page says why. */
function backToPage(error: unknown, log: OperatorLog, cookies: readonly string[] = []): Answer {
  if (!(error instanceof SignInError)) throw error;
  const { why, message: reason } = error;
  log.warn({ why, reason }, 'a sign-in by the identity provider has failed');
  return redirection(`/?${new URLSearchParams({ 'sign-in': why })}`, cookies);
}

/** The browser gets the address with a GET. */
function redirection(location: string, cookies: readonly string[]): Answer {
  return { status: 303, headers: { Location: location }, cookies, body: '' };
}

const cookiePath = '/api/sign-in';

function cookieName({ url }: OperatorRequest): string {
  return `plant_store_sign_in_${url.port || 'default'}`;
}

function textOf(secrets: SignInSecrets): string {
  return Buffer.from(JSON.stringify(secrets)).toString('base64url');
}

/** The browser may send anything. */
function secretsIn(text = ''): SignInSecrets | undefined {
  try {
    const { state, nonce, verifier } = JSON.parse(Buffer.from(text, 'base64url').toString());
    const all = [state, nonce, verifier];
    const areTexts = all.every((one) => typeof one === 'string' && one !== '');
    return areTexts ? { state, nonce, verifier } : undefined;
  } catch {
    return undefined;
  }
}
