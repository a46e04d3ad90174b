import type { Duplex } from 'node:stream';
import pg from 'pg';
import { limits } from '../../limits.ts';
import { intervalText } from '../../quantity-text.ts';
import { StoreOpenError } from '../errors.ts';
import { isSocketFolder, type PostgresHost, type PostgresLocation } from '../location.ts';
import { passwordFor, tlsOptions } from './credentials.ts';
import { durabilityUnder, readSession, type SessionSettings } from './session.ts';

export type Connection = ReturnType<typeof connectionOf>;

/** What the service demands of each transaction of a session. */
export interface SessionDemands {
  readonly statementMs: number;
  /** Whether to write also where a crash may take what was committed. */
  readonly acceptsLostCommits: boolean;
  /** Whether a server that takes no writes, such as a standby, will do. */
  readonly isReader: boolean;
}

/** Begins a session that takes writes, or a reader's. @throws an error that can follow the host */
export async function openConnection(
  host: PostgresHost,
  location: PostgresLocation,
  demands: SessionDemands,
  withinMs: number,
): Promise<Connection> {
  const tooLate = `no answer within ${intervalText(Math.ceil(withinMs))}`;
  const silence = Object.assign(new Error(tooLate), { syscall: 'connect' });
  const reported: string[] = [];
  let client = clientOf(host, location, tlsOptions(host, location.tls), reported);
  const timer = setTimeout(() => client.connection.stream.destroy(silence), withinMs);
  try {
    await client.connect().catch((error: Error) => {
      if (error.message !== noTls) throw error;
      if (location.tls.sslmode !== 'prefer')
        throw new StoreOpenError('it does not speak TLS, which sslmode asks for');
      client = clientOf(host, location, false, reported);
      return client.connect();
    });
    const settings = await readSession(client, location.options, reported, demands.isReader);
    if (!demands.acceptsLostCommits) refuseLostCommits(settings);
    return connectionOf(host, client, settings, demands);
  } catch (error) {
    client.connection.stream.destroy();
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

/** Every connection is checked: after a failover, a server may have other settings. */
function refuseLostCommits(settings: SessionSettings): void {
  const { level, says } = durabilityUnder(settings);
  if (level !== 'lost') return;
  const remedy = 'switch it on, or accept that with --accept-lost-commits';
  throw new Error(`the database may lose what it is given: ${says}; ${remedy}`);
}

/** The error of pg has no code. */
const noTls = 'The server does not support SSL connections';

function connectionOf(
  host: PostgresHost,
  client: pg.Client & BackendKey,
  settings: SessionSettings,
  demands: SessionDemands,
) {
  const { stream } = client.connection;
  const destroy = () => void stream.destroy();
  return {
    host,
    client,
    settings,
    demands,
    /** When another one takes its place: not at once for all connections of all nodes. */
    oldAtMs: performance.now() + limits.postgres.connectionAgeMs * (1 - Math.random() / 4),
    /** Whether either side has ended it. */
    get isClosed(): boolean {
      return stream.destroyed || !stream.writable;
    },
    /** Closes the connection at once. A running query rejects, and its result is unknown. */
    destroy,
    [Symbol.dispose]: destroy,
    /** Destroys it, and cancels its query: a commit that waits for a standby keeps locks. */
    giveUp(): void {
      destroy();
      cancelWork(client);
    },
  };
}

function clientOf(
  host: PostgresHost,
  location: PostgresLocation,
  ssl: NonNullable<pg.ClientConfig['ssl']>,
  reported: string[],
): pg.Client & BackendKey {
  const { user, database, options, applicationName } = location;
  const client = new pg.Client({
    ...host,
    user,
    database,
    options,
    application_name: applicationName,
    password: () => passwordFor(host, location),
    ssl,
    enableChannelBinding: ssl !== false,
    keepAlive: true,
    keepAliveInitialDelayMillis: limits.postgres.keepAliveMs,
  });
  const { connection } = client;
  connection.on('parameterStatus', ({ parameterName }) => reported.push(parameterName));
  containThrows(connection.stream);
  connection.on('sslconnect', () => containThrows(connection.stream));
  // Errors between two queries, such as the end of the server. pg takes no query after one.
  return client.on('error', () => connection.stream.destroy()) as pg.Client & BackendKey;
}

/** pg throws on unknown input, such as a request for Kerberos, which would end the process. */
function containThrows(stream: Duplex): void {
  const emit = stream.emit.bind(stream);
  stream.emit = (event: string, ...args: unknown[]) => {
    try {
      return emit(event, ...args);
    } catch (error) {
      const message = `it sent a message that the client does not know: ${(error as Error).message}`;
      stream.destroy(new Error(message, { cause: error }));
      return true;
    }
  };
}

interface BackendKey {
  readonly processID: number;
  readonly secretKey: number;
}
interface Cancelling extends pg.Connection {
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
}

/** Cancels the query of a session, over a second connection, or the query ends by its timeout. */
function cancelWork({ host, port, ssl, processID, secretKey }: pg.Client & BackendKey): void {
  const connection = new pg.Connection({ ssl }) as Cancelling;
  // The server hangs, so the request may fail, too.
  connection.on('error', () => connection.stream.destroy());
  if (ssl) connection.once('connect', () => connection.requestSsl());
  connection.once(ssl ? 'sslconnect' : 'connect', () => {
    connection.cancel(processID, secretKey);
    connection.stream.end();
  });
  const timer = setTimeout(() => connection.stream.destroy(), limits.postgres.connectMs);
  connection.once('end', () => clearTimeout(timer));
  if (isSocketFolder(host)) connection.connect(`${host}/.s.PGSQL.${port}`);
  else connection.connect(port, host);
}
