import { Refusal } from '../../contract/problems.ts';
import type { Access } from '../access.ts';
import { isJwt } from './compact-jwt.ts';

/** Opaque tokens and JWTs side by side. The form of a token tells which it is. */
export function withJwts(opaque: Access, jwts: Access): Access {
  return {
    tokenCharsMax: Math.max(opaque.tokenCharsMax, jwts.tokenCharsMax),
    recall: (header) => opaque.recall(header) ?? jwts.recall(header),
    authenticate(token, header) {
      // The fixed token may look like a JWT.
      const found = opaque.authenticate(token, header);
      return isJwt(token) && found instanceof Refusal ? 'unknown' : found;
    },
    authenticateAgain: (token, header) =>
      (isJwt(token) ? jwts : opaque).authenticateAgain(token, header),
  };
}
