import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from 'jose';
import Provider, { type AsymmetricSigningAlgorithm, type ClientMetadata } from 'oidc-provider';
import type { Owner } from './program.ts';

export const audience = 'https://plants.example.org';
export const scope = 'plants:create';

/** A private key with its `kid` and `alg`. */
export type SigningKey = JWK & { readonly kid: string; readonly alg: string };

export async function makeKey(kid: string, alg = 'RS256'): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg, use: 'sig' };
}

/** A running identity provider: `oidc-provider`, which is certified by the OpenID Foundation. */
export interface IdentityProvider {
  readonly issuer: string;
  /** Paths that were asked for since the last call. */
  takePaths(): string[];
  /** From now on the provider has these keys. It signs with the first that fits. */
  rotate(...keys: SigningKey[]): void;
  /** Every request gets a 503 until the returned function is called. */
  fail(): () => void;
  /** An access token for the audience, as a client gets it. */
  token(client?: string, scopes?: string): Promise<string>;
}

export interface ProviderOptions {
  /** Algorithm of the access tokens. */
  readonly alg?: AsymmetricSigningAlgorithm;
  /** Clients of the console: the redirection endpoint. */
  readonly redirectUri?: string;
}

export async function startProvider(
  owner: Owner,
  keys: readonly SigningKey[],
  { alg = 'RS256', redirectUri }: ProviderOptions = {},
): Promise<IdentityProvider> {
  let answer: (request: IncomingMessage, response: ServerResponse) => void;
  let paths: string[] = [];
  let isFailing = false;
  const server = createServer((request, response) => {
    paths.push(request.url ?? '');
    if (isFailing) response.writeHead(503).end('{}');
    else answer(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  owner.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const issuer = `http://127.0.0.1:${port}`;

  function rotate(...next: SigningKey[]): void {
    const oidc = provider(issuer, next, alg, redirectUri);
    const callback = oidc.callback();
    answer = (request, response) =>
      request.url?.startsWith('/interaction/')
        ? void signInAtOnce(oidc, request, response)
        : callback(request, response);
  }

  rotate(...keys);
  return {
    issuer,
    takePaths() {
      const taken = paths;
      paths = [];
      return taken;
    },
    rotate,
    fail() {
      isFailing = true;
      return () => {
        isFailing = false;
      };
    },
    async token(client = 'gardener', scopes = scope) {
      const reply = await fetch(`${issuer}/token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: client,
          client_secret: secret,
          resource: audience,
          scope: scopes,
        }),
      });
      const body = (await reply.json()) as { access_token?: string };
      if (body.access_token === undefined) throw new Error(JSON.stringify(body));
      return body.access_token;
    },
  };
}

export const secret = 'secret-of-a-client-0123456789abcdef';

/** Accounts. Only alice is in the group `operators`. */
const people = ['alice', 'bob'];

function provider(
  issuer: string,
  keys: readonly JWK[],
  alg: AsymmetricSigningAlgorithm,
  redirectUri?: string,
) {
  const client = (client_id: string) => ({
    client_id,
    client_secret: secret,
    grant_types: ['client_credentials'],
    redirect_uris: [],
    response_types: [],
  });
  return new Provider(issuer, {
    jwks: { keys: [...keys] },
    clients: [
      client('gardener'),
      client('florist'),
      ...(redirectUri === undefined ? [] : consoleClients(redirectUri)),
    ],
    scopes: ['openid', scope, ...people],
    claims: { openid: ['sub'], alice: ['groups'], bob: ['groups'] },
    findAccount: (_context, sub) => ({
      accountId: sub,
      claims: () => ({ sub, groups: sub === 'alice' ? ['all', 'operators'] : ['all'] }),
    }),
    interactions: { url: (_context, interaction) => `/interaction/${interaction.uid}` },
    features: {
      clientCredentials: { enabled: true },
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({
          scope,
          audience,
          accessTokenFormat: 'jwt',
          accessTokenTTL: 600,
          jwt: { sign: { alg } },
        }),
      },
    },
  });
}

/** As if a person had signed in, and agreed. The scope of the request names the person. */
async function signInAtOnce(
  oidc: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { params } = await oidc.interactionDetails(request, response);
  const accountId = String(params['scope']).split(' ').at(-1) ?? '';
  const grant = new oidc.Grant({ accountId, clientId: String(params['client_id']) });
  grant.addOIDCScope(String(params['scope']));
  const result = { login: { accountId }, consent: { grantId: await grant.save() } };
  await oidc.interactionFinished(request, response, result, { mergeWithLastSubmission: false });
}

/** `console` has a secret; `public` has PKCE alone. */
function consoleClients(redirectUri: string): ClientMetadata[] {
  const common: Partial<ClientMetadata> = {
    redirect_uris: [redirectUri],
    response_types: ['code'],
    grant_types: ['authorization_code'],
  };
  return [
    { ...common, client_id: 'console', client_secret: secret },
    {
      ...common,
      client_id: 'public',
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    },
  ];
}

/** Signs a token by hand: what the provider would never issue. */
export async function forge(
  key: SigningKey | Uint8Array,
  claims: Readonly<Record<string, unknown>>,
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const named = key instanceof Uint8Array ? { alg: 'HS256' } : { alg: key.alg, kid: key.kid };
  return new SignJWT(claims)
    .setProtectedHeader({ typ: 'at+jwt', ...named, ...header } as JWTHeaderParameters)
    .sign(key as Parameters<SignJWT['sign']>[0]);
}
