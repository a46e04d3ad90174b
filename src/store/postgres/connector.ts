import { escapeIdentifier } from 'pg';
import { StoreError, StoreOpenError } from '../errors.ts';
import { type PostgresHost, type PostgresLocation, shownUrl } from '../location.ts';
import { type Connection, openConnection } from './connection.ts';
import { isAtLimit, UNDEFINED_DATABASE } from './errors.ts';

export type Connector = ReturnType<typeof openConnector>;

interface ConnectorChoices {
  /** As of `SessionDemands`: true for work that acknowledges no plant. */
  readonly acceptsLostCommits: boolean;
  /** Whether a lone host may be a standby. Of several, one takes writes, and lacks no plant. */
  readonly isReader?: boolean;
}

/** @param callMs time for a call: for each statement, and for all hosts to answer */
export function openConnector(
  location: PostgresLocation,
  callMs: number,
  { acceptsLostCommits, isReader = false }: ConnectorChoices,
  onConnection: (connection: Connection) => void = () => undefined,
) {
  const { hosts, connectMs } = location;
  const demands = {
    statementMs: callMs,
    acceptsLostCommits,
    isReader: isReader && hosts.length === 1,
  };
  /** The index of the host that is tried first. */
  let first = 0;
  return {
    callMs,
    /**
     * Opens a session on a host that takes writes, or is to be read. The host that was found last
     * comes first, unless it was passed over; then the others in turn.
     *
     * @throws StoreError (`unavailable`). The cause is a `StoreOpenError` if a retry cannot help,
     * such as after a wrong password.
     */
    async connect(): Promise<Connection> {
      const endMs = performance.now() + callMs;
      const failures: { host: PostgresHost; error: unknown }[] = [];
      // `first` may change meanwhile, and each host has one turn.
      const begin = first;
      for (const turn of hosts.keys()) {
        const index = (begin + turn) % hosts.length;
        const host = hosts[index] as PostgresHost;
        // The hosts share the time: one that does not answer leaves time for the others.
        const leftMs = Math.max(0, endMs - performance.now());
        const shareMs = Math.min(connectMs, leftMs / (hosts.length - turn));
        try {
          const connection = await openConnection(host, location, demands, shareMs);
          if (first === begin) first = index;
          onConnection(connection);
          return connection;
        } catch (error) {
          failures.push({ host, error });
        }
      }
      throw connectionFailure(location, failures);
    },
    /** Tries other hosts first: after a failover, an old primary takes writes and ends none. */
    passOver(connection: Connection): void {
      if (connection.host === hosts[first]) first = (first + 1) % hosts.length;
    },
  };
}

/**
 * Names the reason of each host. The cause is a `StoreOpenError` if a retry cannot help, or else the
 * first reason; one that takes no more connections comes before others.
 */
function connectionFailure(
  location: PostgresLocation,
  failures: readonly { readonly host: PostgresHost; readonly error: unknown }[],
): StoreError {
  const reasons = failures.map(
    ({ host: { host, port }, error }) =>
      `${failures.length > 1 ? `${host} port ${port}: ` : ''}${reasonOf(error)}${remedyFor(error, location)}`,
  );
  const message = `cannot connect to the store at ${shownUrl(location)}: ${reasons.join('; ')}`;
  const errors = failures.map(({ error }) => error);
  const cause = errors.some(isLasting)
    ? new StoreOpenError(message)
    : (errors.find(isAtLimit) ?? errors[0]);
  return new StoreError('unavailable', message, { cause });
}

function reasonOf(error: unknown): string {
  // The error of a name with several addresses has no message of its own.
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ');
  if (!(error instanceof Error)) return String(error);
  if (!isAboutTls(error)) return error.message;
  // Node appends advice about its own flags to some messages.
  const reason = 'reason' in error ? error.reason : error.message.replace(/; .*/s, '');
  return `TLS: ${reason} (see sslmode, sslrootcert, sslcert and sslkey)`;
}

function remedyFor(error: unknown, { database, user }: PostgresLocation): string {
  if (errorCode(error) === UNDEFINED_DATABASE)
    return (
      `; CREATE DATABASE ${escapeIdentifier(database)} OWNER ${escapeIdentifier(user)} ` +
      "ENCODING 'UTF8' TEMPLATE template0"
    );
  if (isAtLimit(error))
    return (
      '; each thread of each node needs one: raise max_connections of the server or CONNECTION ' +
      'LIMIT of the role and the database, or lower --http-threads'
    );
  if (!/unsupported startup parameter/.test(reasonOf(error))) return '';
  return (
    '; set ignore_startup_parameters = options in the settings of PgBouncer: plant-store takes ' +
    'search_path from the options itself'
  );
}

/** Wrong user, address, password, database, privilege (errcodes-appendix.html), or file access. */
const lasting = ['28000', '28P01', UNDEFINED_DATABASE, '42501', 'EACCES'];

function isLasting(error: unknown): boolean {
  return error instanceof StoreOpenError || isAboutTls(error) || lasting.includes(errorCode(error));
}

/** Codes of Node (ERR_TLS_CERT_ALTNAME_INVALID) and OpenSSL (SELF_SIGNED_CERT_IN_CHAIN). */
function isAboutTls(error: unknown): boolean {
  return /^ERR_(TLS|SSL|OSSL)_|CERT|SIGNATURE|^INVALID_/.test(errorCode(error));
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : '';
}
