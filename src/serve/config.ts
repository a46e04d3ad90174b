import type { Setting } from '../cli/flags/command-line.ts';
import type { Environment } from '../cli/flags/environment.ts';
import type { Values } from '../cli/flags/flags.ts';
import { jwtFlags, jwtRules, tlsFiles } from '../cli/flags/groups.ts';
import { UsageError } from '../cli/flags/values.ts';
import { reachable } from '../hosts.ts';
import { limits } from '../limits.ts';
import { engineOf } from '../store/engines.ts';
import { fixedToken } from './fixed-token.ts';

/** The flags of `serve`, under the headings of its help. */
export const headings = {
  'For clients': [
    'host',
    'port',
    'tls-certificate',
    'tls-key',
    'reuse-port',
    'http-threads',
    'base-path',
    'cors-origins',
    'body-limit',
  ],
  'For operators: health, metrics and the console': [
    'ops-host',
    'ops-port',
    'ops-names',
    'ops-tls-certificate',
    'ops-tls-key',
  ],
  'The store': [
    'store',
    'new-store',
    'commit-timeout',
    'database-connections',
    'min-standbys',
    'accept-lost-commits',
  ],
  Tokens: ['token-file', ...jwtFlags],
  Backups: ['backup-to', 'backup-every', 'backup-keep'],
  'The log and traces': ['log-level', 'log-format', 'otlp-endpoint'],
} as const;
export const serveFlags = Object.values(headings).flat();

export type ServeValues = Values<(typeof serveFlags)[number]>;

/** With --reuse-port the kernel would spread clients and operators over both listeners. */
export function demandTwoPorts(values: ServeValues): void {
  const { host, port, 'ops-host': opsHost, 'ops-port': opsPort } = values;
  if (port === 0 || port !== opsPort || !overlap(host, opsHost)) return;
  const on = host === opsHost ? host : `${host} and ${opsHost}`;
  throw new UsageError(
    `--port and --ops-port are both ${port} on ${on}; choose another port for one of them`,
  );
}

/** Whether two listeners with one port would meet. */
function overlap(...hosts: readonly [string, string]): boolean {
  const [one, other] = hosts.map((host) => (host === 'localhost' ? '127.0.0.1' : reachable(host)));
  return one === other || hosts.some((host) => reachable(host) !== host);
}

/** @throws UsageError */
export function demandDatabase(values: ServeValues): void {
  const { file, name } = engineOf(values.store);
  if (file === undefined) return;
  for (const [flag, unset] of [
    ['min-standbys', 0],
    ['database-connections', 'auto'],
  ] as const)
    if (values[flag] !== unset)
      throw new UsageError(
        `--${flag} ${values[flag]} needs a PostgreSQL database, and the store is the file ${name}; ` +
          'take the setting away, or name a database with --store',
      );
}

export type ServiceConfig = ReturnType<typeof serviceConfig>;

/** What the service needs of its flags. @param settings the configuration that the console shows */
export function serviceConfig(values: ServeValues, settings: readonly Setting[], env: Environment) {
  return Object.freeze({
    host: values.host,
    port: values.port,
    tls: tlsFiles(values, ''),
    reusePort: values['reuse-port'],
    httpThreads: values['http-threads'],
    opsHost: values['ops-host'],
    opsPort: values['ops-port'],
    opsNames: values['ops-names'] ?? [],
    opsTls: tlsFiles(values, 'ops-'),
    store: values.store,
    jwt: jwtRules(values),
    basePath: values['base-path'],
    corsOrigins: values['cors-origins'],
    fixedToken: fixedToken(values['token-file'], env, values.host),
    bodyBytesMax: values['body-limit'],
    queuePlantsMax: limits.store.queuePlantsMax,
    commitMs: values['commit-timeout'],
    databaseConnections: values['database-connections'],
    acceptsLostCommits: values['accept-lost-commits'],
    standbysMin: values['min-standbys'],
    tracesUrl: values['otlp-endpoint'],
    settings,
  });
}
