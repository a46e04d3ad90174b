import type { PostgresLocation } from '../../store/location.ts';
import type { Environment } from '../environment.ts';

/**
 * The parameters of a URL, each with the variable that counts if the URL does not have the
 * parameter (postgresql.org/docs/current/libpq-envars.html).
 */
export const variables = {
  host: 'PGHOST',
  port: 'PGPORT',
  dbname: 'PGDATABASE',
  user: 'PGUSER',
  password: 'PGPASSWORD',
  passfile: 'PGPASSFILE',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  options: 'PGOPTIONS',
  application_name: 'PGAPPNAME',
  connect_timeout: 'PGCONNECT_TIMEOUT',
  target_session_attrs: 'PGTARGETSESSIONATTRS',
} as const;

export type Parameter = keyof typeof variables;
export type Parameters = Partial<Record<Parameter, string>>;

/**
 * A location as the variables of another process, whose URL is then `postgres://`. Arguments would
 * show the password to other users of the machine.
 */
export function postgresVariables(location: PostgresLocation): Environment {
  const { hosts, tls } = location;
  const values: Partial<Record<Parameter, string | undefined>> = {
    host: hosts.map(({ host }) => host).join(','),
    port: hosts.map(({ port }) => port).join(','),
    dbname: location.database,
    user: location.user,
    password: location.password,
    passfile: location.passwordFile,
    sslmode: tls.mode,
    sslrootcert: tls.rootFile,
    sslcert: tls.certificateFile,
    sslkey: tls.keyFile,
    options: location.options,
    application_name: location.applicationName,
    connect_timeout: `${Math.ceil(location.connectMs / 1_000)}`,
  };
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [variables[name as Parameter], value]),
  );
}
