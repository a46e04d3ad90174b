import type { PostgresLocation } from '../../store/location.ts';
import type { Environment } from '../environment.ts';
import { type Parameter, variables } from './url.ts';

/**
 * The same location as variables, for another process: it shows nobody a password, as its arguments
 * would. Its URL is `postgres://`.
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
