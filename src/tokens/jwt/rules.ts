import { limits } from '../../limits.ts';
import type { Rate } from '../../store/tables/tokens.ts';
import type { Jwt } from './compact-jwt.ts';

export interface JwtRules {
  readonly issuers: readonly string[];
  readonly audience: string;
  /** Undefined: a token for the audience may create plants. */
  readonly scope: string | undefined;
  /** `at+jwt`: RFC 9068. `jwt`: also a `typ` of `JWT`, or none. */
  readonly type: 'at+jwt' | 'jwt';
  /** Of each subject. Undefined: as many creates as the service takes. */
  readonly rate: Rate | undefined;
}

/** No MAC: its key checks tokens, and can also make tokens (RFC 8725 §3.1). */
export const algorithms: readonly string[] =
  'RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519'.split(' ');

/** What counts of the claims of a token that keeps the rules. */
export interface CheckedClaims {
  readonly issuer: string;
  readonly sub: string;
  /** In seconds since the epoch. */
  readonly exp: number;
  /** Undefined: the token has the scope, or needs none. */
  readonly missingScope: string | undefined;
}

/**
 * Every check but that of the signature (RFC 7519 §4.1, RFC 8725 §3, RFC 9068 §4).
 *
 * @returns for another token, the end of "the token is refused: ", which repeats no secret
 */
export function checkClaims(
  { header: { alg, typ, crit }, claims }: Jwt,
  { issuers, audience, scope, type }: JwtRules,
  nowMs: number,
): CheckedClaims | string {
  const { iss, aud, exp, nbf, iat, sub } = claims;
  const latestMs = nowMs + limits.jwt.clockToleranceMs;
  const issuer = issuers.find((one) => one === iss);
  if (!algorithms.includes(alg as string)) return 'its signature algorithm (alg) is not accepted';
  if (!isType(typ, type)) return `its type (typ) is not ${typeNames[type]}`;
  if (crit !== undefined) return 'it has header members that must be understood (crit)';
  if (issuer === undefined) return 'its issuer (iss) is not accepted';
  if (![aud].flat().includes(audience)) return 'it is not for this service (aud)';
  if (!isTime(exp)) return 'it has no valid time of expiry (exp)';
  const expired = expiryFault(exp, nowMs);
  if (expired !== undefined) return expired;
  if (!isNotAfter(nbf, latestMs)) return 'it is not valid yet (nbf)';
  if (!isNotAfter(iat, latestMs)) return 'it was issued in the future (iat)';
  if (!isSubject(sub)) return 'it names no usable subject (sub)';
  const hasScope = scope === undefined || isInScope(claims, scope);
  return { issuer, sub, exp, missingScope: hasScope ? undefined : scope };
}

const typeNames: Readonly<Record<JwtRules['type'], string>> = {
  'at+jwt': 'at+jwt, the type of an access token',
  jwt: 'at+jwt or JWT',
};

/** RFC 9068 §4; RFC 7515 §4.1.9 lets a media type leave `application/` out. */
function isType(typ: unknown, demanded: JwtRules['type']): boolean {
  if (typ === undefined) return demanded === 'jwt';
  const name = typeof typ === 'string' ? typ.toLowerCase().replace(/^application\//, '') : '';
  return name === 'at+jwt' || (demanded === 'jwt' && name === 'jwt');
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

/** A token without an end, or with a distant end, would outlive its leak. */
export function expiryFault(exp: number, nowMs: number): string | undefined {
  const { lifetimeMs } = limits.jwt;
  if (exp * 1_000 <= nowMs) return 'it has expired (exp)';
  if (exp * 1_000 <= nowMs + lifetimeMs) return undefined;
  return `it expires more than ${lifetimeMs / 3_600_000} hours from now (exp)`;
}

function isNotAfter(value: unknown, latestMs: number): boolean {
  return value === undefined || (isTime(value) && value * 1_000 <= latestMs);
}

function isSubject(sub: unknown): sub is string {
  return (
    typeof sub === 'string' &&
    sub.length > 0 &&
    sub.length <= limits.jwt.subjectCharsMax &&
    sub.isWellFormed() &&
    !/\p{Cc}/u.test(sub)
  );
}

/** RFC 8693 §4.2. Some issuers call the claim `scp`, or make it a list. */
function isInScope({ scope, scp }: Jwt['claims'], demanded: string): boolean {
  const isIn = (some: unknown) => typeof some === 'string' && some.split(' ').includes(demanded);
  return [scope ?? scp].flat().some(isIn);
}
