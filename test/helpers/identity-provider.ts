import { randomUUID, sign } from 'node:crypto';
import { createServer } from 'node:http';
import { exportJWK, generateKeyPair, type JWK, type JWTHeaderParameters, SignJWT } from 'jose';
import { listenFor } from './free-port.ts';
import type { Owner } from './program.ts';

export const audience = 'https://plants.example.org';
export const scope = 'plants:create';

/** A private key with its `kid` and `alg`. */
export type SigningKey = JWK & { readonly kid: string; readonly alg: string };

export async function makeKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey } = await generateKeyPair(alg, { extractable: true });
  return { ...(await exportJWK(privateKey)), kid, alg, use: 'sig' };
}

/** A running identity provider: its metadata, its keys, and the access tokens that it issues. */
export interface IdentityProvider {
  readonly issuer: string;
  /** Paths that were asked for since the last call. */
  takePaths(): string[];
  /** From now on the provider has these keys. It signs with the first. */
  rotate(...keys: SigningKey[]): void;
  /** Every request gets a 503 until the returned function is called. */
  fail(): () => void;
  /** An access token for the audience, as a client gets it (RFC 9068). */
  token(client?: string, scopes?: string): Promise<string>;
}

export async function startProvider(
  owner: Owner,
  keys: readonly SigningKey[],
): Promise<IdentityProvider> {
  let [now, isFailing] = [keys, false];
  const paths: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    paths.push(url);
    const reply = replies[url]?.();
    const status = isFailing ? 503 : reply ? 200 : 404;
    response.writeHead(status, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(status === 200 ? reply : {}));
  });
  const issuer = `http://127.0.0.1:${await listenFor(owner, server)}`;
  const replies: Readonly<Record<string, () => object>> = {
    '/.well-known/openid-configuration': () => ({ issuer, jwks_uri: `${issuer}/jwks` }),
    '/jwks': () => ({ keys: now.map(publicPart) }),
  };
  return {
    issuer,
    takePaths: () => paths.splice(0),
    rotate(...next) {
      now = next;
    },
    fail() {
      isFailing = true;
      return () => {
        isFailing = false;
      };
    },
    async token(client = 'gardener', scopes = scope) {
      const iat = Math.floor(Date.now() / 1_000);
      const claims = { iss: issuer, aud: audience, sub: client, client_id: client, scope: scopes };
      return forge(now[0] as SigningKey, { ...claims, iat, exp: iat + 600, jti: randomUUID() });
    },
  };
}

/** Without the private members (RFC 7518 §6). */
export function publicPart({
  d: _,
  p: __,
  q: ___,
  dp: ____,
  dq: _____,
  qi: ______,
  ...rest
}: SigningKey) {
  return rest;
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

/** Signs a token whose header and claims are these bytes, which may be no JSON. */
export function signText(
  key: SigningKey,
  claims: string | Uint8Array,
  header: string | Uint8Array = JSON.stringify({ alg: key.alg, kid: key.kid, typ: 'at+jwt' }),
): string {
  const signed = [header, claims].map((part) => Buffer.from(part).toString('base64url')).join('.');
  const signature = sign('sha256', Buffer.from(signed), {
    ...{ key, format: 'jwk', dsaEncoding: 'ieee-p1363' },
  } as const);
  return `${signed}.${signature.toString('base64url')}`;
}
