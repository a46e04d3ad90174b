import type { Values } from '../config/flags.ts';
import { UsageError } from '../config/values.ts';
import type { TlsFiles } from '../service/config.ts';

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
