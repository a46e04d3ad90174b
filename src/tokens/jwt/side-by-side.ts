import { timingSafeEqual } from 'node:crypto';
import type { Access } from '../access.ts';
import { hashToken } from '../opaque-tokens.ts';
import { isJwt } from './compact-jwt.ts';

/**
 * Opaque tokens and JWTs side by side. The form of a token tells which it is, and so neither side
 * refuses a token of the other.
 *
 * @param fixedToken of any form: an opaque token also if it looks like a JWT
 */
export function withJwts(opaque: Access, jwts: Access, fixedToken = ''): Access {
  const fixed = isJwt(fixedToken) ? hashToken(fixedToken) : undefined;
  const isFixed = (token: string) =>
    fixed !== undefined && timingSafeEqual(fixed, hashToken(token));
  const sideOf = (token: string) => (isJwt(token) && !isFixed(token) ? jwts : opaque);
  return {
    tokenCharsMax: Math.max(opaque.tokenCharsMax, jwts.tokenCharsMax),
    recall: (header) => opaque.recall(header) ?? jwts.recall(header),
    authenticate: (token, header) => sideOf(token).authenticate(token, header),
    authenticateAgain: (token, header) => sideOf(token).authenticateAgain(token, header),
  };
}
