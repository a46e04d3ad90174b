import { UsageError } from '../values.ts';
import { type Parameter, type Parameters, variables } from './variables.ts';

/**
 * Parses a URL as libpq does (libpq-connect.html, 34.1.1.2). Several hosts and ports are lists with
 * commas.
 *
 * @throws UsageError, which shows no part of the URL: any part may be a password that was not
 * encoded
 */
export function parsePostgresUrl(url: string): Parameters {
  const parts = /^postgres(?:ql)?:\/\/(?:([^@/]*)@)?([^@/?]*)(?:\/([^@/?]*))?(?:\?(.*))?$/s.exec(
    url,
  );
  if (parts === null) return refuse();
  const [, userAndPassword = '', hosts = '', database = '', query = ''] = parts;
  const [user = '', ...password] = userAndPassword.split(':');
  return {
    user: decoded(user),
    password: decoded(password.join(':')),
    ...parseHosts(hosts),
    dbname: decoded(database),
    ...Object.fromEntries(query.split('&').filter(Boolean).map(parseParameter)),
  };
}

function parseHosts(text: string): Parameters {
  const found = text
    .split(',')
    .map((host) => /^(?:\[([^[\]]+)\]|([^:[\]]*))(?::([0-9]*))?$/.exec(host) ?? refuse());
  const hosts = found.map(([, address, name = '']) => address ?? decoded(name));
  const ports = found.map(([, , , port = '']) => port);
  return { host: hosts.join(','), port: ports.some(Boolean) ? ports.join(',') : '' };
}

function parseParameter(text: string): [Parameter, string] {
  const [, name, value = ''] = /^([^=]*)=(.*)$/s.exec(text) ?? refuse();
  const known = (Object.keys(variables) as Parameter[]).find((parameter) => parameter === name);
  if (known !== undefined) return [known, decoded(value)];
  const shown = /^[a-z_]+$/.test(name ?? '') ? `the parameter ${name}` : 'a parameter';
  throw new UsageError(
    `has ${shown}, which is not supported; the supported ones: ${Object.keys(variables).join(', ')}`,
  );
}

function decoded(text: string): string {
  try {
    // A text in PostgreSQL cannot hold it.
    return text.includes('%00') ? refuse() : decodeURIComponent(text);
  } catch {
    return refuse();
  }
}

function refuse(): never {
  const codes = '%2F for /, %3A for :, %40 for @, %3F for ?, %25 for %';
  throw new UsageError(
    `must be a URL such as postgres://user@host:5432/database, and names and passwords in it need ${codes}`,
  );
}
