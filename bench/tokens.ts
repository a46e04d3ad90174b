/** The tokens that the clients of a target take in turn. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { issueToken } from '../src/access/issue-token.ts';
import { openStore } from '../src/stores.ts';

const tokensMade = 1_000;
const lockMs = 5_000;

export interface Prepared {
  /** The clients take them in turn. Missing: one fixed token. */
  tokens?: string[];
  /** Further arguments of the target. */
  flags: string[];
  /** To be called after the target has stopped. */
  dispose(): void;
}

/** Tokens of the store. */
export async function makeOpaqueTokens(storePath: string): Promise<Prepared> {
  await using store = await openStore({ engine: 'sqlite', path: storePath }, lockMs);
  const common = { role: 'create', validMs: undefined, rate: undefined } as const;
  const tokens: string[] = [];
  for (let index = 0; index < tokensMade; index += 1) {
    const wish = { ...common, name: `client-${index}` };
    const issued = await issueToken(store, wish, Date.now());
    if ('refusal' in issued) throw new Error(issued.message);
    tokens.push(issued.token);
  }
  return { tokens, flags: [], dispose: () => undefined };
}

/** Access tokens of an identity provider in this process, each of another subject. */
export async function makeJwts(): Promise<Prepared> {
  const { publicKey, privateKey } = await generateKeyPair('RS256');
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'bench', alg: 'RS256' }];
  const server = createServer((request, response) => {
    const reply = request.url === '/jwks' ? { keys } : { issuer, jwks_uri: `${issuer}/jwks` };
    response.end(JSON.stringify(reply));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const audience = 'https://plants.example.org';
  const tokens = await Promise.all(
    Array.from({ length: tokensMade }, (_, index) =>
      new SignJWT({ client_id: `client-${index}`, scope: 'plants:create' })
        .setProtectedHeader({ alg: 'RS256', kid: 'bench', typ: 'at+jwt' })
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(`client-${index}`)
        .setJti(`token-of-client-${index}`)
        .setIssuedAt()
        .setExpirationTime('12h')
        .sign(privateKey),
    ),
  );
  const flags = ['--jwt-issuer', issuer, '--jwt-audience', audience];
  return { tokens, flags, dispose: () => server.close() };
}
