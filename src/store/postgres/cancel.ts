import pg from 'pg';
import { limits } from '../../limits.ts';
import { isSocketFolder } from '../location.ts';

/** What the types of pg leave out. */
interface Session {
  readonly processID: number;
  readonly secretKey: number;
}
interface Cancelling extends pg.Connection {
  connect(portOrPath: number | string, host?: string): void;
  requestSsl(): void;
  cancel(processID: number, secretKey: number): void;
}

/**
 * Asks the server, over a second connection, to cancel the query of a session. The server does not
 * tell the result. Without a cancel, the query ends by its own timeout or with the server.
 */
export function cancelWork(client: pg.Client): void {
  const { host, port, ssl, processID, secretKey } = client as pg.Client & Session;
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
