import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { readFirstToken } from '../../access/first-token.ts';
import type { Environment } from '../../config/environment.ts';
import type { Values } from '../../config/flags.ts';
import { UsageError } from '../../config/values.ts';
import { isErrno } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import { DescriptorsError } from '../../service/descriptors.ts';
import { type Log, openLog } from '../../service/log.ts';
import { OperatorPortError, type Service, type ServiceConfig, startService } from '../../service/service.ts';
import { locationName } from '../../store/location.ts';
import { version } from '../../version.ts';
import { CommandError, command, type Terminal } from '../command.ts';
import { checkPostgresStart } from '../doctor/postgres.ts';
import { checkSqliteStart } from '../doctor/sqlite.ts';
import { fixedToken, fixedTokenChars, tokenVariable } from './fixed-token.ts';
import { upgradeOutdatedStore } from './upgrade.ts';

const flags = [
  'host',
  'port',
  'reuse-port',
  'http-threads',
  'ops-host',
  'ops-port',
  'ops-names',
  'store',
  'accept-lost-commits',
  'base-path',
  'token-file',
  'body-limit',
  'connection-limit',
  'queue-limit',
  'request-timeout',
  'commit-timeout',
  'drain-timeout',
  'log-level',
  'log-format',
] as const;

type ServeValues = Values<(typeof flags)[number]>;

export const serve = command({
  positionals: [],
  summary: 'Run the service.',
  flags,
  examples: [
    'plant-store serve',
    'plant-store serve --port 9090 --store sqlite:/var/lib/plant-store/plants.db',
    'PLANT_STORE_TOKEN_FILE=/run/secrets/token plant-store serve --host 0.0.0.0 --log-format json',
  ],
  async run({ values, settings }, terminal) {
    demandTwoPorts(values);
    const { store } = values;
    const warnings = store.engine === 'sqlite' ? checkSqliteStart(store, terminal.userId) : checkPostgresStart(terminal.userId);
    const { 'log-format': format, 'log-level': level, 'drain-timeout': drainMs } = values;
    const readable = format === 'text' || (format === 'auto' && terminal.errorsAreOnTerminal);
    const logOptions = { level, readable, colors: terminal.errorsHaveColors };
    const log = await openLog(logOptions);
    const config = Object.freeze({ ...serviceConfig(values, terminal.env), settings });
    // Before all else, so that a signal during the start is not lost.
    const signal = terminal.untilSignal().then((name) => ({ signal: name }));
    await upgradeOutdatedStore(store, log, terminal);
    const service = await startService(config, logOptions).catch((error) => {
      throw error instanceof OperatorPortError ? operatorPortError(error, config) : startError(error, config);
    });
    const failure = service.failed.then((message) => ({ failure: message }));

    const { plantsUrl: url, opsUrl, promise } = service;
    for (const { name, says } of warnings) log.warn({ check: name }, says);
    if (service.storeIsNew) log.info({ store: locationName(config.store) }, 'there was no store: a new one has been made');
    if (promise) log[promise.level === 'lost' ? 'warn' : 'info']({}, `a 200 means: ${promise.says}`);
    const token = await tokenToTry(service, config, values['token-file']);
    log.info({ version, url, opsUrl, store: locationName(config.store), token: token.where }, 'ready');
    if (config.fixedToken !== undefined && config.fixedToken.length < fixedTokenChars) {
      log.warn({}, `the fixed token is short and may be guessed; give it ${fixedTokenChars} random characters or more`);
    }
    // Off a terminal, standard output and the log may end in one file, which is to hold JSON alone.
    const isWatched = readable || (format === 'auto' && terminal.width !== undefined);
    if (isWatched) for (const line of welcome(service, config, token)) terminal.print(line);

    const reason = await Promise.race([signal, failure]);
    const failed = 'failure' in reason;
    exitWhenStuck(terminal, log, drainMs + config.commitMs);
    await service.close(failed ? limits.lingerMs : drainMs, () => {
      if (failed) log.fatal(reason, 'the service cannot go on; stopping');
      else log.info(reason, 'stopping');
    });
    log.info({}, 'stopped');
    return failed ? 1 : 0;
  },
});

/** With --reuse-port they could share one, and the kernel would deal out clients to the console, and operators to the plants. */
function demandTwoPorts({ host, port, 'ops-host': opsHost, 'ops-port': opsPort }: ServeValues): void {
  if (port === 0 || port !== opsPort || host !== opsHost) return;
  throw new UsageError(`--port and --ops-port are both ${port} on ${host}; choose another for one of them`);
}

function serviceConfig(values: ServeValues, env: Environment): Omit<ServiceConfig, 'settings'> {
  return {
    host: values.host,
    port: values.port,
    reusePort: values['reuse-port'],
    httpThreads: values['http-threads'],
    opsHost: values['ops-host'],
    opsPort: values['ops-port'],
    opsNames: values['ops-names'] ?? [],
    store: values.store,
    basePath: values['base-path'],
    fixedToken: fixedToken(values['token-file'], env),
    bodyBytesMax: values['body-limit'],
    connectionsMax: values['connection-limit'],
    queuePlantsMax: values['queue-limit'],
    requestMs: values['request-timeout'],
    commitMs: values['commit-timeout'],
    acceptsLostCommits: values['accept-lost-commits'],
  };
}

/** Says what kept the service from starting, for the operator. */
function startError(error: unknown, { host, port }: ServiceConfig): unknown {
  if (error instanceof DescriptorsError) return new CommandError(error.message, { cause: error });
  return listenError(error, '', host, port);
}

function operatorPortError(error: Error, { opsHost, opsPort }: ServiceConfig): unknown {
  const orOff =
    opsPort === 'off' || !isErrno(error.cause, 'EADDRINUSE') ? '' : ' (it is for health, metrics and the console; off is possible, too)';
  const told = listenError(error.cause, 'ops-', opsHost, opsPort);
  return told instanceof CommandError ? new CommandError(told.message + orOff, { cause: error }) : told;
}

/** What listen(2) has against the address, if it is one of the usual things. `prefix` is that of the flags that name it. */
function listenError(error: unknown, prefix: '' | 'ops-', host: string, port: number | 'off'): unknown {
  const problem = (what: string) => new CommandError(what, { cause: error });
  if (isErrno(error, 'EADDRINUSE')) {
    return problem(
      `port ${port} on ${host} is taken by another program; choose another with --${prefix}port, or take over from a service there with --reuse-port`,
    );
  }
  if (isErrno(error, 'EACCES'))
    return problem(`port ${port} may not be used without privileges; choose one above 1023 with --${prefix}port`);
  if (isErrno(error, 'EADDRNOTAVAIL') || isErrno(error, 'ENOTFOUND') || isErrno(error, 'EAI_AGAIN')) {
    return problem(`${host} is not an address of this machine; choose another with --${prefix}host`);
  }
  return error;
}

/** What a person wants to know at the start, with a first create that can be pasted as it is. */
function welcome(service: Service, config: ServiceConfig, token: TokenToTry): string[] {
  const { plantsUrl } = service;
  return [
    `Plant Store ${version} is ready.`,
    `  address  ${plantsUrl}`,
    `  docs     ${reachable(plantsUrl).replace(/plants$/, 'docs')}`,
    `  store    ${locationName(config.store)}${service.storeIsNew ? ' (new: there was none)' : ''}`,
    ...(service.promise === undefined ? [] : [`  a 200    ${service.promise.says}`]),
    `  token    ${token.where}`,
    ...(service.opsUrl === undefined ? [] : [`  console  ${reachable(service.opsUrl)}`]),
    'Create a plant:',
    `  curl ${reachable(plantsUrl)} -H "Authorization: Bearer ${token.inShell}" -H 'Content-Type: application/json' -d '{"id":1,"name":"Alder","tag":"Alnus"}'`,
  ];
}

/** Where there is a token that is admitted, and shell text that stands for it. The token itself is never shown. */
interface TokenToTry {
  readonly where: string;
  readonly inShell: string;
}

async function tokenToTry(
  { firstTokenFile, admits }: Service,
  { fixedToken: fixed }: ServiceConfig,
  tokenFile: string | undefined,
): Promise<TokenToTry> {
  if (tokenFile !== undefined) return { where: `in ${tokenFile}`, inShell: contentOf(tokenFile) };
  if (fixed !== undefined) return { where: `in ${tokenVariable}`, inShell: `$${tokenVariable}` };
  const firstToken = existsSync(firstTokenFile) ? readFirstToken(firstTokenFile) : undefined;
  if (firstToken !== undefined && (await admits(firstToken))) {
    return { where: `in ${firstTokenFile}`, inShell: contentOf(firstTokenFile) };
  }
  return { where: 'make one with: npx plant-store token create NAME', inShell: 'TOKEN' };
}

function contentOf(file: string): string {
  return `$(cat ${shellQuoted(resolve(file))})`;
}

function shellQuoted(text: string): string {
  return /^[A-Za-z0-9/._-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A server that listens on all addresses is reached on the loopback address. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}

function exitWhenStuck(terminal: Terminal, log: Log, graceMs: number): void {
  const stuck = () => {
    log.fatal({}, 'the service does not stop by itself; giving up');
    terminal.exit(1);
  };
  setTimeout(stuck, graceMs + limits.lingerMs).unref();
  void terminal.untilInterruptedAgain().then(() => terminal.exit(1));
}
