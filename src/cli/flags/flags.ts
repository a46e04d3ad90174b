import { limits } from '../../limits.ts';
import { engineOf } from '../../store/engines.ts';
import { defaultStorePath, type StoreLocation } from '../../store/location.ts';
import { roles } from '../../store/tables/tokens.ts';
import type { Environment } from './environment.ts';
import { storeLocation } from './store-location.ts';
import {
  basePath,
  columnTitle,
  duration,
  durationMsMax,
  hostNames,
  integer,
  issuers,
  oneOf,
  onOff,
  origins,
  orWord,
  orZero,
  otlpEndpoint,
  pastTime,
  rate,
  retention,
  scopeToken,
  text,
} from './values.ts';

interface FlagTexts<T> {
  readonly help: string;
  /** In the help of a command, by its name, where another text fits better. */
  readonly helpIn?: Readonly<Record<string, string>>;
  /** Who needs the flag, and when, for the docs. */
  readonly need: string;
  /** An empty variable is no error, and counts as none. */
  readonly emptyVariableUnsets?: boolean;
  /** Shows a value without its password. */
  show?(value: T): string;
  /** All values, if they are words; a word that ends with `=` begins a value. */
  readonly choices?: readonly string[];
  /** The flag may be given several times, and its variable may have several lines. */
  readonly isRepeated?: boolean;
  /** The name of another flag, without which the flag has no effect, and is an error. */
  readonly needs?: string;
}

export interface Flag<T, D extends string | undefined = string | undefined> extends FlagTexts<T> {
  /** Stands for the value in the help. Empty for a switch, which has no value. */
  readonly placeholder: string;
  /**
   * Of a repeated flag, makes a list of each value; the lists are joined.
   *
   * @throws UsageError with the rest of a sentence that starts with the flag's name
   */
  readonly parse: (text: string, env: Environment) => T;
  /** As typed. Undefined if the flag has no value when it is left out. */
  readonly default: D;
}

const formatNames = ['ndjson', 'csv', 'tsv'] as const;

const urlOf = (location: StoreLocation) => engineOf(location).url;

export const flags = {
  host: withDefault('ADDRESS', text, '127.0.0.1', {
    help: 'address to listen on',
    need: 'For clients on other machines: 0.0.0.0, or one address of this machine.',
  }),
  port: withDefault('PORT', integer(0, 65_535), '8080', {
    help: 'port to listen on; 0: any free port',
    need: 'For a machine on which another program has the port 8080, and for tests (0).',
  }),
  'http-threads': withDefault('N', orWord('auto', integer(1, 64)), 'auto', {
    help: 'threads that answer requests; auto: one less than the cores, from 1 to 4',
    need: 'For a machine with other programs, or for cores that stay idle under full load.',
  }),
  'reuse-port': toggle({
    help: 'share the port with a running service',
    need: 'For an upgrade on one machine without downtime or a load balancer.',
  }),
  'tls-certificate': optional('FILE', text, {
    help: 'PEM file with the certificate of the service',
    need: 'For encrypted connections without a proxy.',
    needs: 'tls-key',
  }),
  'tls-key': optional('FILE', text, {
    help: 'PEM file with the key of --tls-certificate',
    need: 'For encrypted connections without a proxy.',
    needs: 'tls-certificate',
  }),
  'ops-tls-certificate': optional('FILE', text, {
    help: 'PEM file with the certificate of --ops-port',
    need: 'For a console or a Prometheus that connects over a network without a tunnel.',
    needs: 'ops-tls-key',
  }),
  'ops-tls-key': optional('FILE', text, {
    help: 'PEM file with the key of --ops-tls-certificate',
    need: 'For a console or a Prometheus that connects over a network without a tunnel.',
    needs: 'ops-tls-certificate',
  }),
  store: withDefault('STORE', storeLocation, `sqlite:${defaultStorePath}`, {
    help: 'the store: sqlite:PATH or postgres://…',
    need: 'For a store at a fixed path, whatever the working directory, or in a database.',
    show: urlOf,
  }),
  'new-store': choice(['auto', 'never', 'yes'], 'auto', {
    help:
      'make a missing store; auto: only without traces of an earlier one; yes with backup: give ' +
      'up the plants that only earlier backups have',
    helpIn: {
      serve: 'make a missing store; auto: only without traces of an earlier one',
      backup: 'yes: make the backup although earlier backups have plants that the store lacks',
    },
    need: 'For a disk that may not be mounted (never), and for a loss that is accepted (yes).',
  }),
  'database-connections': withDefault('N', orWord('auto', integer(3, 1_000)), 'auto', {
    help: 'most connections to the database; auto: 4 for each thread, and 1 for the console',
    need: 'For many nodes on one database that has too few connections for all.',
  }),
  'accept-lost-commits': toggle({
    help: 'use a database that may lose stored plants in a crash (fsync off)',
    need: 'For tests on such a database, never for plants that matter.',
  }),
  'min-standbys': withDefault('N', integer(0, 100), '0', {
    help: 'synchronous standbys that the database must wait for; with fewer, creates get 503',
    need: 'For a cluster that goes on without standbys: a 200 would mean less then.',
  }),
  against: optional('BACKUP', text, {
    help: 'a backup, or a folder of backups; the store must hold all plants of the backup',
    need: 'For damage that SQLite cannot see, such as a flipped bit in a name.',
  }),
  'ops-host': withDefault('ADDRESS', text, '127.0.0.1', {
    help: 'address of --ops-port; a loopback address is reachable from this machine only',
    need: 'For a Prometheus, a health check or a browser on another machine.',
  }),
  'ops-port': withDefault('PORT', orWord('off', integer(0, 65_535)), '8081', {
    help: 'port for operators, or off',
    helpIn: {
      open: 'port of the running service for operators',
      healthcheck: 'port of the running service for operators',
    },
    need: 'For a second service on the machine, or where operators use the command line only.',
  }),
  'ops-names': optional('NAMES', hostNames, {
    help: 'names of the console besides localhost, such as ops.example.org,ops',
    need: 'For a console that browsers reach by a name; requests for other names are refused.',
  }),
  'base-path': withDefault('PATH', basePath, '/', {
    help: 'path before /plants',
    need: 'For a proxy that serves several programs and forwards paths unchanged.',
  }),
  'cors-origins': optional('ORIGINS', origins, {
    help: 'origins of web pages that may call the service, such as https://app.example.org; * for all',
    need: 'For a web page that creates plants from the browser of its user.',
  }),
  'token-file': optional('FILE', text, {
    help: 'file with a fixed token that may create plants',
    need: 'For containers that mount secrets as files. An empty variable means no file.',
    // The unit and the image set the variable. Kubernetes cannot remove a variable of an image.
    emptyVariableUnsets: true,
  }),
  'jwt-issuer': optional('URLS', issuers, {
    help: 'identity providers of accepted JWTs, such as https://login.example.org',
    need: 'For clients that have tokens of an identity provider.',
    needs: 'jwt-audience',
    show: (list) => list.join(),
  }),
  'jwt-audience': optional('NAME', text, {
    help: 'audience (aud) that a JWT must name',
    need: 'Needed with --jwt-issuer: the name of this service at the provider. Tokens for other services are refused.',
    needs: 'jwt-issuer',
  }),
  'jwt-scope': optional('SCOPE', scopeToken, {
    help: 'scope that a JWT must have, such as plants:create',
    need: 'For a provider that gives tokens for the audience to clients that only read.',
    needs: 'jwt-issuer',
  }),
  'jwt-type': choice(['at+jwt', 'jwt'], 'at+jwt', {
    help: 'type (typ) that a JWT must have; jwt: also the type JWT, or no type',
    need: 'For an identity provider that does not mark its access tokens as RFC 9068 asks for.',
    needs: 'jwt-issuer',
  }),
  'jwt-rate': optional('RATE', rate, {
    help: 'most creates of each subject on one node, such as 60/m',
    need: 'For clients with JWTs that could crowd out other clients.',
    needs: 'jwt-issuer',
  }),
  'body-limit': withDefault(
    'BYTES',
    integer(1_024, limits.store.queueBytesMax / 2),
    `${limits.http.bodyBytesMax}`,
    {
      help: 'largest body, or plant in a file',
      helpIn: { import: 'largest plant in the file' },
      need: 'For plants with longer texts, or to refuse large bodies earlier.',
    },
  ),
  'commit-timeout': withDefault(
    'TIME',
    duration(limits.store.commitMsMax),
    `${limits.store.commitMs / 1_000}s`,
    {
      help: 'longest time to store a plant; after it, 503',
      need: 'For a disk or database that stalls for longer, or clients with shorter time-outs.',
    },
  ),
  'backup-to': optional('FOLDER', text, {
    help: 'folder in which the service makes verified backups at regular times',
    need: 'For backups without a timer of the system, best on another disk.',
  }),
  'backup-every': withDefault('TIME', duration(durationMsMax), '1h', {
    help: 'time between two backups',
    need: 'To lose fewer plants with a disk, or to make fewer backups.',
    needs: 'backup-to',
  }),
  'backup-keep': withDefault('RULES', retention, '24h:1h,30d:1d,1y:1w', {
    help: 'backups to keep, as in backup --keep',
    need: 'For a smaller disk, or a longer history.',
    needs: 'backup-to',
  }),
  'otlp-endpoint': optional('URL', otlpEndpoint, {
    help: 'collector of the spans of creates (OTLP over HTTP), such as http://localhost:4318',
    need: 'For clients that send traces: a trace then also shows what the service did.',
    show: (url) => url,
  }),
  'log-level': choice(['debug', 'info', 'warn', 'error'], 'info', {
    help: 'lowest level to log',
    need: 'For a line for each refused request also in an outage (debug), or for a log of troubles only (warn).',
  }),
  'log-format': choice(['auto', 'json', 'text'], 'auto', {
    help: 'form of the log; auto: text on a terminal, and JSON elsewhere',
    need: 'For people who read the log from a file, or programs that read a terminal.',
  }),
  role: choice(roles, 'create', {
    help: 'what the token allows: to create plants, or to operate the service',
    need: 'For operators who sign in to the console.',
  }),
  rate: optional('RATE', orWord('none', rate), {
    help: 'most creates of the token on one node, such as 60/m, or 100/s:500 (500 at once); or none',
    need: 'For a client that could crowd out other clients.',
  }),
  expires: optional('TIME', duration(durationMsMax), {
    help: 'how long the secret is valid, such as 90d; default: never expires; a rotated token keeps its lifetime',
    need: 'For access that has to end by itself.',
  }),
  grace: withDefault('TIME', orZero(duration(limits.access.rotationGraceMsMax)), '24h', {
    help: 'how long the old secret stays in force, such as 24h; 0: it ends at once',
    need: 'For clients that take longer to get the new secret, or a secret that has leaked (0).',
  }),
  tag: optional('TAG', (tag) => tag, {
    help: 'only plants with exactly this tag',
    need: 'For the plants of one tag.',
  }),
  'name-contains': optional('TEXT', text, {
    help: 'only plants whose name contains this text, in upper or lower case',
    need: 'For a plant whose id is unknown.',
  }),
  'created-by': optional('TOKEN', text, {
    help: 'only plants of one token: its name, environment (the fixed token) or import',
    need: 'For what one client has stored, for instance with a token that leaked.',
  }),
  since: optional('TIME', pastTime, {
    help: 'only plants from this time on: 7d (ago), 2026-11-24 or 2026-11-24T02:00Z',
    need: 'For the plants since an incident, or since a change of a client.',
  }),
  until: optional('TIME', pastTime, {
    help: 'only plants before this time, in a form of --since',
    need: 'For the plants of one night, together with --since.',
  }),
  newest: toggle({
    help: 'list the newest plants first',
    need: 'For the plants of the last minutes.',
  }),
  limit: withDefault(
    'N',
    orWord('none', integer(1, 1_000_000_000)),
    `${limits.cli.listPlantsDefault}`,
    {
      help: 'largest number of plants to list; none: list all',
      need: 'For scripts that read all plants at once.',
    },
  ),
  overwrite: toggle({
    help: 'replace an existing file, or a store that holds plants; the old store gets another name',
    helpIn: {
      export: 'replace an existing file',
      restore: 'replace a store that holds plants; the old store gets another name',
    },
    need: 'For an export to one file every night, or a restore in place of a broken store.',
  }),
  keep: optional('RULES', retention, {
    help: 'backups to keep: 24h:1h,30d:1d keeps one backup an hour for 24 hours, and one a day for 30 days',
    need: 'For a folder that must not fill up.',
  }),
  format: optional(formatNames.join('|'), oneOf(formatNames), {
    help: 'format of the plants, if neither the name of a file nor a terminal tells it; tsv: only for import',
    helpIn: {
      export: 'ndjson or csv, if the name of the file tells neither',
      'plants list': 'print ndjson or csv, as export does, also on a terminal',
      import:
        'format, if the name of the file does not tell it; for a table with tabs, csv: cells may be quoted; tsv: a quote is a plain character',
    },
    need: 'For CSV through a pipe, for files with other endings, and for quotes in a .tsv file.',
    choices: formatNames,
  }),
  column: optional('FIELD=COLUMN', (pair) => [columnTitle(pair)], {
    help: 'column of a CSV file for the id, name or tag, such as id=Nr; once for each',
    need: 'For files of other programs, whose columns have other titles.',
    choices: ['id=', 'name=', 'tag='],
    isRepeated: true,
  }),
  json: toggle({
    help: 'print one JSON object on each line',
    need: 'For scripts.',
  }),
};

export type FlagName = keyof typeof flags;

export function helpOf(name: FlagName, command: string): string {
  const { help, helpIn }: Flag<unknown> = flags[name];
  return helpIn?.[command] ?? help;
}

export type Values<F extends FlagName> = {
  readonly [N in F]: (typeof flags)[N] extends Flag<infer T, infer D>
    ? D extends string
      ? T
      : T | undefined
    : never;
};

function withDefault<T>(
  placeholder: string,
  parse: Flag<T>['parse'],
  value: string,
  texts: FlagTexts<T>,
): Flag<T, string> {
  return { placeholder, parse, default: value, ...texts };
}

function toggle(texts: FlagTexts<boolean>): Flag<boolean, string> {
  return withDefault('', onOff, 'false', texts);
}

function choice<T extends string>(
  choices: readonly T[],
  value: string,
  texts: FlagTexts<T>,
): Flag<T, string> {
  return withDefault(choices.join('|'), oneOf(choices), value, { ...texts, choices });
}

function optional<T>(
  placeholder: string,
  parse: Flag<T>['parse'],
  texts: FlagTexts<T>,
): Flag<T, undefined> {
  return { placeholder, parse, default: undefined, ...texts };
}
