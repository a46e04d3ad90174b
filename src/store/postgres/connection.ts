import type { Socket } from 'node:net';
import pg from 'pg';
import { StoreOpenError } from '../errors.ts';
import type { PostgresHost, PostgresLocation } from '../location.ts';
import { cancelWork } from './cancel.ts';
import { passwordFrom } from './password-file.ts';
import { beginSession, type SessionSettings } from './session.ts';
import { openStream } from './stream.ts';
import { tlsOptions } from './tls.ts';

export interface Connection {
  readonly client: pg.Client;
  readonly settings: SessionSettings;
  /** Whether either side has ended it. */
  readonly isClosed: boolean;
  /**
   * Cuts it at once. A query that is under way rejects; whether it has taken effect is not known.
   */
  destroy(): void;
  /**
   * The same for a server that does not answer. It is asked to stop what is under way: a commit
   * that waits for a standby would have a session of the server, and hold its locks, for as long as
   * it takes.
   */
  giveUp(): void;
}

/**
 * Connects to one host, and begins a session that takes writes.
 *
 * @param signal gives up, with its reason
 * @throws what went wrong, in words that can follow the name of the host
 */
export async function openConnection(
  host: PostgresHost,
  location: PostgresLocation,
  statementMs: number,
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
    return connectionOf(client, stream, await beginSession(client, statementMs), openAnother);
  } catch (error) {
    stream?.destroy();
    throw signal.aborted ? signal.reason : error;
  }
}

function connectionOf(
  client: pg.Client,
  stream: Socket,
  settings: SessionSettings,
  openAnother: () => Promise<Socket>,
): Connection {
  return {
    client,
    settings,
    get isClosed() {
      return stream.destroyed || !stream.writable;
    },
    destroy: () => stream.destroy(),
    giveUp() {
      stream.destroy();
      // It hangs, so this may fail, too.
      cancelWork(client, openAnother).catch(() => undefined);
    },
  };
}

/** It is told everything that it would otherwise look up in the environment by rules of its own. */
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
  // It comes while nobody asks, such as at the end of the server; pg takes no query after it.
  return client.on('error', () => stream.destroy());
}

/**
 * Asked for each connection, so that a password that has been changed in its file counts from the
 * next one on.
 */
async function passwordFor(host: PostgresHost, location: PostgresLocation): Promise<string> {
  const { password, passwordFile } = location;
  const found =
    password ?? (passwordFile && (await passwordFrom(passwordFile, { ...location, ...host })));
  if (found) return found;
  const places = `the URL, in PGPASSWORD${passwordFile ? `, or for this host in ${passwordFile}` : ''}`;
  throw new StoreOpenError(`it asks for a password, and there is none in ${places}`);
}

/**
 * pg wants to connect the stream by itself. And what it throws when it cannot read what comes, such
 * as the wish for Kerberos, would end the process.
 */
function alreadyConnected(stream: Socket): Socket {
  const emit = stream.emit.bind(stream);
  return Object.assign(stream, {
    connect: () => queueMicrotask(() => emit('connect')),
    emit(event: string, ...args: unknown[]) {
      try {
        return emit(event, ...args);
      } catch (error) {
        stream.destroy(
          new Error(`it says what is not understood here: ${(error as Error).message}`, {
            cause: error,
          }),
        );
        return true;
      }
    },
  });
}
