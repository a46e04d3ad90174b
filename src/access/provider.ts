/** How operators sign in at an identity provider. */
export interface ProviderConfig {
  readonly issuer: string;
  readonly clientId: string;
  /** Undefined for a public client, which PKCE alone protects. */
  readonly clientSecret: string | undefined;
  /** Values of `scope`, with spaces between them. */
  readonly scope: string;
  /** An operator has this value in this claim. */
  readonly claim: { readonly name: string; readonly value: string };
  /** The address of the console in browsers. Ends with a slash. */
  readonly url: string;
}

/** Kept by the browser between the two steps. Each is used once. */
export interface SignInSecrets {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
}

/** Why a person is not signed in. The message is for the log, and has no secret. */
export class SignInError extends Error {
  override readonly name = 'SignInError';
  readonly why: 'unavailable' | 'refused' | 'not an operator';

  constructor(why: SignInError['why'], message: string, cause?: unknown) {
    super(message, { cause });
    this.why = why;
  }
}

/** The authorization code flow with PKCE (OpenID Connect Core 1.0 §3.1, RFC 7636, RFC 9700). */
export interface ProviderSignIn {
  /** @returns where the browser goes, and what it keeps @throws SignInError */
  begin(): Promise<{ readonly url: URL; readonly secrets: SignInSecrets }>;
  /**
   * @param query of the request with which the browser comes back
   * @returns issuer and subject, with a space between them
   * @throws SignInError
   */
  finish(query: string, secrets: SignInSecrets): Promise<string>;
}

/** The path below `ProviderConfig.url` to which the provider sends the browser back. */
export const callbackPath = 'api/sign-in/callback';
