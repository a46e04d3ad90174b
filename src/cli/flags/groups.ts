import type { Values } from './flags.ts';

/* Flags that are given together, or not at all: see `needs` of each. */

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

/** Of the public listener, or with `ops-` of the operators' listener. Undefined without TLS. */
export function tlsFiles(
  values: Values<(typeof tlsFlags)[number]>,
  prefix: '' | 'ops-',
): TlsFiles | undefined {
  const certificate = values[`${prefix}tls-certificate`];
  const key = values[`${prefix}tls-key`];
  if (certificate === undefined || key === undefined) return undefined;
  return { certificate, key };
}

export const jwtFlags = [
  'jwt-issuer',
  'jwt-audience',
  'jwt-scope',
  'jwt-type',
  'jwt-rate',
] as const;

/** Undefined without identity providers. */
export function jwtRules(values: Values<(typeof jwtFlags)[number]>) {
  const { 'jwt-issuer': issuers, 'jwt-audience': audience, 'jwt-scope': scope } = values;
  const { 'jwt-type': type, 'jwt-rate': rate } = values;
  if (issuers === undefined || audience === undefined) return undefined;
  return { issuers, audience, scope, type, rate };
}
