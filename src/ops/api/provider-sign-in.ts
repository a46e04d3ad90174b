import type { Context, Handler } from 'hono';
import { deleteCookie, getCookie, setCookie } from 'hono/cookie';
import { type ProviderSignIn, SignInError, type SignInSecrets } from '../../access/provider.ts';
import type { Sessions } from '../../access/sessions.ts';
import { limits } from '../../limits.ts';
import type { SignInProvider } from '../contract.ts';
import { keepSession, type OperatorLog } from './session.ts';

export interface Provider {
  readonly issuer: string;
  /** Whether browsers reach the console by https. */
  readonly isEncrypted: boolean;
  readonly signIn: ProviderSignIn;
}

/** Tells the page whether operators can sign in at an identity provider. */
export function showProvider(provider: Provider | undefined): Handler {
  return (context) => context.json({ issuer: provider?.issuer ?? null } satisfies SignInProvider);
}

/** The first step: sends the browser to the provider. */
export function beginSignIn({ signIn, isEncrypted }: Provider, log: OperatorLog): Handler {
  return async (context) => {
    try {
      const { url, secrets } = await signIn.begin();
      setCookie(context, cookieName(context), textOf(secrets), {
        httpOnly: true,
        // The browser comes back from another site.
        sameSite: 'Lax',
        path: cookiePath,
        secure: isEncrypted,
        maxAge: limits.ops.providerSignInMs / 1_000,
      });
      return context.redirect(`${url}`, 303);
    } catch (error) {
      return backToPage(context, error, log);
    }
  };
}

/** The second step: the provider has sent the browser back. */
export function finishSignIn(
  { signIn, isEncrypted }: Provider,
  sessions: Sessions,
  log: OperatorLog,
): Handler {
  return async (context) => {
    const secrets = secretsIn(getCookie(context, cookieName(context)));
    deleteCookie(context, cookieName(context), { path: cookiePath });
    try {
      if (secrets === undefined)
        throw new SignInError('refused', 'the browser has not begun this sign-in, or too long ago');
      const name = await signIn.finish(new URL(context.req.url).search, secrets);
      const session = await sessions.signInSubject(name);
      if (session === 'too many subjects')
        throw new SignInError('refused', 'the store has too many subjects');
      log.info({ operator: name }, 'signed in to the console by the identity provider');
      keepSession(context, session.secret, isEncrypted);
      return context.redirect('/', 303);
    } catch (error) {
      return backToPage(context, error, log);
    }
  };
}

/** The page says why. */
function backToPage(context: Context, error: unknown, log: OperatorLog): Response {
  if (!(error instanceof SignInError)) throw error;
  const { why, message: reason } = error;
  log.warn({ why, reason }, 'a sign-in by the identity provider has failed');
  return context.redirect(`/?${new URLSearchParams({ 'sign-in': why })}`, 303);
}

const cookiePath = '/api/sign-in';

function cookieName({ req }: Context): string {
  return `plant_store_sign_in_${new URL(req.url).port || 'default'}`;
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
