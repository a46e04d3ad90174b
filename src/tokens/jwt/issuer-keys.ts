import { isDeepStrictEqual } from 'node:util';
import {
  type CompactVerifyGetKey,
  compactVerify,
  createLocalJWKSet,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWK,
} from 'jose';
import { limits } from '../../limits.ts';
import { openRefresh } from '../refresh.ts';
import { fetchKeys } from './issuer.ts';
import { algorithms } from './rules.ts';

/** The keys of an issuer at one moment. While the keys stay the same, so does the object. */
export interface KeySet {
  readonly jwks: JSONWebKeySet;
  /** Differs from that of the keys before. */
  readonly version: number;
  readonly check: ReturnType<typeof signatureCheck>;
}

export type IssuerKeys = ReturnType<typeof openIssuerKeys>;

/** Gets the first of several failures in a row, and the first success after them. */
export type KeysLog = Record<'info' | 'error', (fields: object, message: string) => void>;

/** For one thread. An issuer that is away is asked again, and the known keys stay in force. */
export function openIssuerKeys(issuer: string, log: KeysLog) {
  let known: KeySet | undefined;
  let readAtMs = 0;

  const refresh = openRefresh({
    async read() {
      const jwks = await fetchKeys(issuer);
      if (!isDeepStrictEqual(jwks, known?.jwks))
        known = {
          jwks,
          version: (known?.version ?? 0) + 1,
          check: signatureCheck(createLocalJWKSet(withBothNames(jwks))),
        };
      readAtMs = Date.now();
      if (refresh.fault() !== undefined)
        log.info({ issuer }, 'the keys of the issuer can be read again');
    },
    everyMs: limits.jwt.keysEveryMs,
    retryMs: limits.jwt.keysRetryMs,
    againMs: limits.jwt.keysAgainMs,
    staleMs: limits.jwt.keysKeptMs,
    onError: (error) =>
      log.error(
        { issuer, reason: (error as Error).message },
        'the keys of an issuer cannot be read; the keys that are known stay in force',
      ),
  });
  return {
    /** Resolves after the first read, also if it has failed. */
    begun: refresh.again(),
    /** Undefined if the keys were not read within `limits.jwt.keysKeptMs`. */
    current: (): KeySet | undefined => (refresh.isStale() ? undefined : known),
    /** Such reads have a shortest interval, so tokens with made-up keys cause few of them. */
    again: refresh.again,
    /** In milliseconds since the epoch; 0 for never. */
    readAtMs: () => readAtMs,
    [Symbol.dispose]: refresh[Symbol.dispose],
  };
}

/** `Ed25519` is the newer name of `EdDSA` with this curve (RFC 9864 §2.2), and jose compares names. */
function withBothNames({ keys }: JSONWebKeySet): JSONWebKeySet {
  const withoutName = ({ alg, ...key }: JWK): JWK => key;
  return { keys: keys.map((key) => (key?.crv === 'Ed25519' ? withoutName(key) : key)) };
}

/** No key comes from a token: `jwk`, `jku`, `x5c` and `x5u` are ignored (RFC 8725 §3.10). */
function signatureCheck(keyOf: CompactVerifyGetKey) {
  const options = { algorithms: [...algorithms] };
  return async (token: string): Promise<'good' | 'unknown key' | 'wrong' | 'unusable'> => {
    try {
      await compactVerify(token, keyOf, options);
      return 'good';
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return 'unknown key';
      if (error instanceof errors.JWKSMultipleMatchingKeys) {
        for await (const key of error) {
          const verified = await compactVerify(token, key, options).catch(() => undefined);
          if (verified !== undefined) return 'good';
        }
        return 'unknown key';
      }
      if (error instanceof errors.JWSSignatureVerificationFailed)
        return decodeProtectedHeader(token).kid === undefined ? 'unknown key' : 'wrong';
      return 'unusable';
    }
  };
}
