import type { JwtRules } from '../access/jwt/rules.ts';
import type { Values } from '../config/flags.ts';
import { UsageError } from '../config/values.ts';

export const jwtFlags = [
  'jwt-issuer',
  'jwt-audience',
  'jwt-scope',
  'jwt-type',
  'jwt-rate',
] as const;

/** Undefined without identity providers. @throws UsageError if one of two flags is missing */
export function jwtRules(values: Values<(typeof jwtFlags)[number]>): JwtRules | undefined {
  const {
    'jwt-issuer': issuers,
    'jwt-audience': audience,
    'jwt-scope': scope,
    'jwt-type': type,
    'jwt-rate': rate,
  } = values;
  if (issuers !== undefined && audience !== undefined)
    return { issuers, audience, scope, type, rate };
  if ([issuers, audience, scope, rate].every((value) => value === undefined)) return undefined;
  throw new UsageError('--jwt-issuer and --jwt-audience must be given together');
}
