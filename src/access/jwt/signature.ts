import { type CompactVerifyGetKey, compactVerify, decodeProtectedHeader, errors } from 'jose';
import { algorithms } from './rules.ts';

/** `unknown key`: the issuer may have a newer key. */
export type SignatureCheck = (
  token: string,
) => Promise<'good' | 'unknown key' | 'wrong' | 'unusable'>;

/**
 * Checks signatures with the keys of one issuer. No key comes from a token: `jwk`, `jku`, `x5c` and
 * `x5u` are ignored (RFC 8725 §3.10).
 */
export function signatureCheck(keyOf: CompactVerifyGetKey): SignatureCheck {
  const options = { algorithms: [...algorithms] };
  return async (token) => {
    try {
      await compactVerify(token, keyOf, options);
      return 'good';
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) return 'unknown key';
      if (error instanceof errors.JWKSMultipleMatchingKeys) {
        for await (const key of error) {
          const isGood = await compactVerify(token, key, options).then(
            () => true,
            () => false,
          );
          if (isGood) return 'good';
        }
        return 'unknown key';
      }
      if (error instanceof errors.JWSSignatureVerificationFailed)
        return decodeProtectedHeader(token).kid === undefined ? 'unknown key' : 'wrong';
      return 'unusable';
    }
  };
}
