import { locationText, type PostgresHost, type PostgresLocation } from '../location.ts';
import { StoreError, StoreOpenError } from '../store.ts';

/** What went wrong with a host. */
export interface HostFailure {
  readonly host: PostgresHost;
  readonly error: unknown;
}

/** Says of each host why it is not used. Its cause is a `StoreOpenError` if one of them is there, and waiting will not help. */
export function connectionFailure(location: PostgresLocation, failures: readonly HostFailure[]): StoreError {
  const reasons = failures.map(({ host, error }) => `${host.host}:${host.port}: ${reasonOf(error)}`);
  const message = `cannot use the store at ${locationText(location)}: ${reasons.join('; ')}`;
  const cause = failures.some(({ error }) => isLasting(error)) ? new StoreOpenError(message) : failures[0]?.error;
  return new StoreError('unavailable', message, { cause });
}

function reasonOf(error: unknown): string {
  // Of a name with several addresses, and without a message of its own.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}

/** No such user or not from here, wrong password, no such database, no right to use it (errcodes-appendix.html). */
const lasting = ['28000', '28P01', '3D000', '42501'];

function isLasting(error: unknown): boolean {
  if (error instanceof StoreOpenError) return true;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return lasting.includes(code) || isAboutCertificates(code);
}

/** Of Node (ERR_TLS_CERT_ALTNAME_INVALID) and of OpenSSL (SELF_SIGNED_CERT_IN_CHAIN, UNABLE_TO_VERIFY_LEAF_SIGNATURE). */
function isAboutCertificates(code: string): boolean {
  return /CERT|SIGNATURE|^INVALID_/.test(code);
}
