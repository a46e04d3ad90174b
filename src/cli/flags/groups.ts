import type { Values } from './flags.ts';
import { UsageError } from './values.ts';

/* Flags that are given together, or not at all. */

/** Paths of PEM files. */
export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
}

export const tlsFlags = [
  'tls-certificate',
  'tls-key',
  'ops-tls-certificate',
  'ops-tls-key',
] as const;

/**
 * The files of the public listener, or with `ops-` of the operators' listener. Undefined without
 * TLS.
 *
 * @throws UsageError if one of two files is missing
 */
export function tlsFiles(
  values: Values<(typeof tlsFlags)[number]>,
  prefix: '' | 'ops-',
): TlsFiles | undefined {
  const certificate = values[`${prefix}tls-certificate`];
  const key = values[`${prefix}tls-key`];
  if (certificate !== undefined && key !== undefined) return { certificate, key };
  if (certificate === undefined && key === undefined) return undefined;
  throw new UsageError(`--${prefix}tls-certificate and --${prefix}tls-key must be given together`);
}

export const jwtFlags = [
  'jwt-issuer',
  'jwt-audience',
  'jwt-scope',
  'jwt-type',
  'jwt-rate',
] as const;

/** Undefined without identity providers. @throws UsageError if one of two flags is missing */
export function jwtRules(values: Values<(typeof jwtFlags)[number]>) {
  const { 'jwt-issuer': issuers, 'jwt-audience': audience, 'jwt-scope': scope } = values;
  const { 'jwt-type': type, 'jwt-rate': rate } = values;
  if (issuers !== undefined && audience !== undefined)
    return { issuers, audience, scope, type, rate };
  if ([issuers, audience, scope, rate].every((value) => value === undefined)) return undefined;
  throw new UsageError('--jwt-issuer and --jwt-audience must be given together');
}
