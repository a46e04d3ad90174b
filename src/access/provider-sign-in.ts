import * as client from 'openid-client';
import { limits } from '../limits.ts';
import { reused } from '../reused.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { isSafeUrl } from './jwt/safe-url.ts';
import { callbackPath, type ProviderConfig, type ProviderSignIn, SignInError } from './provider.ts';

export function openProviderSignIn(config: ProviderConfig): ProviderSignIn {
  const redirectUri = config.url + callbackPath;
  const provider = reused(() => discover(config), {
    forMs: limits.ops.providerKnownMs,
    failureMs: limits.ops.providerRetryMs,
  });

  return {
    async begin() {
      const verifier = client.randomPKCECodeVerifier();
      const secrets = { state: client.randomState(), nonce: client.randomNonce(), verifier };
      const url = client.buildAuthorizationUrl(await provider(), {
        redirect_uri: redirectUri,
        scope: config.scope,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        state: secrets.state,
        nonce: secrets.nonce,
      });
      return { url, secrets };
    },
    async finish(query, { state, nonce, verifier }) {
      const used = await provider();
      const checks = {
        pkceCodeVerifier: verifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      };
      const tokens = await client
        .authorizationCodeGrant(used, new URL(redirectUri + query), checks)
        .catch(refuse);
      const claims = tokens.claims();
      if (claims === undefined) throw new SignInError('refused', 'there is no ID token');
      const { name, value } = config.claim;
      if (!has(claimOf(claims, name), value)) {
        const more = used.serverMetadata().userinfo_endpoint
          ? await client.fetchUserInfo(used, tokens.access_token, claims.sub).catch(refuse)
          : {};
        if (!has(claimOf(more, name), value))
          throw new SignInError('not an operator', `${claims.sub} lacks ${name}=${value}`);
      }
      return `${claims.iss} ${claims.sub}`;
    },
  };
}

async function discover({ issuer, clientId, clientSecret }: ProviderConfig) {
  const url = new URL(issuer);
  const bounded: client.CustomFetch = (to, request) => boundedFetch(to, request as RequestInit);
  const options: client.DiscoveryRequestOptions = {
    timeout: limits.jwt.fetchMs / 1_000,
    [client.customFetch]: bounded,
    // A flag can only name an unencrypted provider of this machine.
    execute: url.protocol === 'http:' ? [client.allowInsecureRequests] : [],
  };
  try {
    const found = await client.discovery(url, clientId, undefined, client.None(), options);
    const metadata = found.serverMetadata();
    if (metadata.issuer !== issuer)
      throw new Error(`the provider calls itself ${JSON.stringify(metadata.issuer)}`);
    const endpoint = URL.parse(metadata.token_endpoint ?? '');
    if (endpoint === null || !isSafeUrl(endpoint))
      throw new Error('its token_endpoint is no URL that starts with https://');
    if (clientSecret === undefined) return found;
    const methods = metadata.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
    const authentication = methods.includes('client_secret_basic')
      ? client.ClientSecretBasic(clientSecret)
      : client.ClientSecretPost(clientSecret);
    const provider = new client.Configuration(metadata, clientId, undefined, authentication);
    provider.timeout = options.timeout;
    provider[client.customFetch] = bounded;
    for (const prepare of options.execute ?? []) prepare(provider);
    return provider;
  } catch (error) {
    throw new SignInError('unavailable', `${issuer} cannot be read (${reasonOf(error)})`, error);
  }
}

function refuse(error: unknown): never {
  const isAway =
    error instanceof TypeError ||
    (error instanceof client.ClientError && error.code === 'OAUTH_TIMEOUT') ||
    (error instanceof client.ResponseBodyError && error.status >= 500);
  throw new SignInError(isAway ? 'unavailable' : 'refused', reasonOf(error), error);
}

/** The members of an error reply are the provider's own, and no secrets (RFC 6749 §5.2). */
function reasonOf(error: unknown): string {
  if (
    error instanceof client.ResponseBodyError ||
    error instanceof client.AuthorizationResponseError
  )
    return [error.error, error.error_description].filter((part) => part !== undefined).join(': ');
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

/** A claim of this name, or a member of claims, such as `realm_access.roles`. */
function claimOf(claims: object, name: string): unknown {
  if (Object.hasOwn(claims, name)) return (claims as Record<string, unknown>)[name];
  const [first = '', ...rest] = name.split('.');
  if (rest.length === 0 || !Object.hasOwn(claims, first)) return undefined;
  const inner = (claims as Record<string, unknown>)[first];
  return typeof inner === 'object' && inner !== null ? claimOf(inner, rest.join('.')) : undefined;
}

function has(claim: unknown, value: string): boolean {
  return [claim].flat().some((one) => String(one) === value);
}
