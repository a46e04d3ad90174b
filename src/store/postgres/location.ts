import { isSocketFolder, type PostgresHost, type PostgresLocation } from '../location.ts';

/** The location as a URL without a password. */
export function postgresText({ hosts, user, database }: PostgresLocation): string {
  const hostList = hosts.map(({ host, port }) => `${hostText(host)}:${port}`).join(',');
  return `postgres://${encodeURIComponent(user)}@${hostList}/${encodeURIComponent(database)}`;
}

function hostText(host: PostgresHost['host']): string {
  if (isSocketFolder(host)) return encodeURIComponent(host);
  return host.includes(':') ? `[${host}]` : host;
}
