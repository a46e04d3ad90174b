import { StoreError, StoreOpenError } from '../errors.ts';
import {
  isSocketFolder,
  type PostgresHost,
  type PostgresLocation,
  socketPath,
} from '../location.ts';
import { postgresText } from './location.ts';

/** What went wrong with a host. */
export interface HostFailure {
  readonly host: PostgresHost;
  readonly error: unknown;
}

/**
 * Says of each host why it is not used. The cause is a `StoreOpenError` if waiting will not help
 * with one of them.
 */
export function connectionFailure(
  location: PostgresLocation,
  failures: readonly HostFailure[],
): StoreError {
  const reasons = failures.map(
    ({ host, error }) => `${failures.length > 1 ? `${nameOf(host)}: ` : ''}${reasonOf(error)}`,
  );
  const message = `cannot connect to the store at ${postgresText(location)}: ${reasons.join('; ')}`;
  const cause = failures.some(({ error }) => isLasting(error))
    ? new StoreOpenError(message)
    : failures[0]?.error;
  return new StoreError('unavailable', message, { cause });
}

function nameOf(at: PostgresHost): string {
  return isSocketFolder(at.host) ? socketPath(at) : `${at.host} port ${at.port}`;
}

function reasonOf(error: unknown): string {
  // Of a name with several addresses. It has no message of its own.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  if (!(error instanceof Error)) return String(error);
  if (!isAboutTls(error)) return error.message;
  // What Node adds to some is about flags of Node.
  const reason = 'reason' in error ? error.reason : error.message.replace(/; .*/s, '');
  return `TLS: ${reason} (see sslmode, sslrootcert, sslcert and sslkey)`;
}

/**
 * No such user or not from here, wrong password, no such database, no right to use it
 * (errcodes-appendix.html); no right to use a file.
 */
const lasting = ['28000', '28P01', '3D000', '42501', 'EACCES'];

function isLasting(error: unknown): boolean {
  return error instanceof StoreOpenError || isAboutTls(error) || lasting.includes(codeOf(error));
}

/**
 * Of Node (ERR_TLS_CERT_ALTNAME_INVALID) and of OpenSSL (SELF_SIGNED_CERT_IN_CHAIN,
 * ERR_SSL_TLSV1_ALERT_UNKNOWN_CA).
 */
function isAboutTls(error: unknown): boolean {
  return /^ERR_(TLS|SSL|OSSL)_|CERT|SIGNATURE|^INVALID_/.test(codeOf(error));
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
