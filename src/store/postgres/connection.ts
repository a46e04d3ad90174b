import type { Socket } from 'node:net';
import pg from 'pg';
import { StoreOpenError } from '../errors.ts';
import type { PostgresHost, PostgresLocation } from '../location.ts';
import { cancelWork } from './cancel.ts';
import { passwordFrom } from './password-file.ts';
import { readSession, type SessionSettings } from './session.ts';
import { openStream } from './stream.ts';
import { tlsOptions } from './tls.ts';

export interface Connection {
  readonly client: pg.Client;
  readonly settings: SessionSettings;
  readonly demands: SessionDemands;
  /** Whether either side has ended it. */
  readonly isClosed: boolean;
  /** Closes the connection at once. A running query rejects, and its result is unknown. */
  destroy(): void;
  /** Destroys it, and asks the server to cancel: a commit that waits for a standby keeps locks. */
  giveUp(): void;
}

/** What the service demands of each transaction of a session. */
export interface SessionDemands {
  readonly statementMs: number;
  /** Whether to write also where a crash may take what was committed. */
  readonly acceptsLostCommits: boolean;
}

/**
 * Connects to one host, and begins a session that takes writes.
 *
 * @param signal aborts with its reason
 * @throws an error whose message can follow the name of the host
 */
export async function openConnection(
  host: PostgresHost,
  location: PostgresLocation,
  demands: SessionDemands,
  isEncrypted: boolean,
  signal: AbortSignal,
): Promise<Connection> {
  let stream: Socket | undefined;
  try {
    const tls = isEncrypted ? await tlsOptions(location.tls) : undefined;
    stream = await openStream(host, tls, signal);
    const client = clientOn(stream, host, location, isEncrypted);
    await client.connect();
    const openAnother = () => openStream(host, tls, AbortSignal.timeout(location.connectMs));
    return connectionOf(
      client,
      stream,
      await readSession(client, location.options),
      demands,
      openAnother,
    );
  } catch (error) {
    stream?.destroy();
    throw signal.aborted ? signal.reason : error;
  }
}

function connectionOf(
  client: pg.Client,
  stream: Socket,
  settings: SessionSettings,
  demands: SessionDemands,
  openAnother: () => Promise<Socket>,
): Connection {
  return {
    client,
    settings,
    demands,
    get isClosed() {
      return stream.destroyed || !stream.writable;
    },
    destroy: () => stream.destroy(),
    giveUp() {
      stream.destroy();
      // The server hangs, so the request may fail, too.
      cancelWork(client, openAnother).catch(() => undefined);
    },
  };
}

/** Sets every option that pg would otherwise read from the environment, by rules of its own. */
function clientOn(
  stream: Socket,
  host: PostgresHost,
  location: PostgresLocation,
  isEncrypted: boolean,
): pg.Client {
  const { user, database, options, applicationName } = location;
  const client = new pg.Client({
    ...host,
    user,
    database,
    options,
    application_name: applicationName,
    password: () => passwordFor(host, location),
    ssl: false,
    sslnegotiation: 'postgres',
    enableChannelBinding: isEncrypted,
    stream: () => alreadyConnected(stream),
  });
  // Errors between two queries, such as the end of the server. pg takes no query after one.
  return client.on('error', () => stream.destroy());
}

/** Called for each connection: a changed password file counts from the next one on. */
async function passwordFor(host: PostgresHost, location: PostgresLocation): Promise<string> {
  const { password, passwordFile } = location;
  const found =
    password ?? (passwordFile && (await passwordFrom(passwordFile, { ...location, ...host })));
  if (found) return found;
  const places = `the URL, in PGPASSWORD${passwordFile ? `, or for this host in ${passwordFile}` : ''}`;
  throw new StoreOpenError(`it asks for a password, and there is none in ${places}`);
}

/**
 * pg connects its stream itself. And an error that pg throws on unknown input, such as a request
 * for Kerberos, would end the process.
 */
function alreadyConnected(stream: Socket): Socket {
  const emit = stream.emit.bind(stream);
  return Object.assign(stream, {
    connect: () => queueMicrotask(() => emit('connect')),
    emit(event: string, ...args: unknown[]) {
      try {
        return emit(event, ...args);
      } catch (error) {
        const message = `it sent a message that the client does not know: ${(error as Error).message}`;
        stream.destroy(new Error(message, { cause: error }));
        return true;
      }
    },
  });
}
