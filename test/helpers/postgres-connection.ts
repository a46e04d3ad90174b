import type { TestContext } from 'node:test';
import { postgresLocation } from '../../src/cli/flags/postgres-location.ts';
import { engineOf } from '../../src/store/engines.ts';
import type { PostgresLocation } from '../../src/store/location.ts';
import type { Connection } from '../../src/store/postgres/connection.ts';
import { openConnector } from '../../src/store/postgres/connector.ts';
import { queryOn } from '../../src/store/postgres/transaction.ts';

export const statementMs = 70_000;

/** A host that answers does so sooner, also on a busy machine. */
export const withinMs = 5_000;

/** The location of the URL, without variables and files of a user. */
export function locationOf(
  url: string,
  variables: Readonly<Record<string, string>> = {},
): PostgresLocation {
  return { ...postgresLocation(url, variables), connectMs: withinMs };
}

/** Makes a store in the database of the URL, as a service does at its start. */
export async function makeStore(url: string): Promise<void> {
  await (await engineOf(locationOf(url)).open({ callMs: withinMs, mayMake: true })).close();
}

/** A connection that is cut when the test ends. */
export async function connectTo(
  t: TestContext,
  url: string,
  variables?: Readonly<Record<string, string>>,
): Promise<Connection> {
  const connection = await openConnector(locationOf(url, variables), statementMs, {
    acceptsLostCommits: true,
  }).connect();
  t.after(() => connection.destroy());
  return connection;
}

export async function queryValue(connection: Connection, expression: string): Promise<unknown> {
  const { rows } = await queryOn(connection)(`SELECT ${expression}`);
  return rows[0]?.[0];
}
