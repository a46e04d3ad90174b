import { resolve } from 'node:path';
import type { ServiceBackups } from '../backup/schedule.ts';
import { command, type Terminal } from '../cli/command.ts';
import { atInterruption } from '../cli/terminal/interruption.ts';
import { checkStart } from '../doctor/start.ts';
import { limits } from '../limits.ts';
import { version } from '../program.ts';
import { ageText } from '../quantity-text.ts';
import { engineOf } from '../store/engines.ts';
import { type Log, openLog } from '../telemetry/log.ts';
import {
  demandDatabase,
  demandTwoPorts,
  headings,
  type ServeValues,
  type ServiceConfig,
  serveFlags,
  serviceConfig,
} from './config.ts';
import { listenError } from './ports.ts';
import { type Service, startService } from './service.ts';
import { type Systemd, systemd } from './systemd.ts';
import { prepareStore } from './upgrade.ts';
import { type TokenToTry, tokenToTry, welcome } from './welcome.ts';

export const serve = command({
  positionals: [],
  summary: 'Run the service.',
  need: 'Everyone needs it: clients create plants through it.',
  flags: serveFlags,
  headings,
  examples: [
    'plant-store serve',
    'plant-store serve --port 9090 --store sqlite:/var/lib/plant-store/plants.db',
    'PLANT_STORE_TOKEN_FILE=/run/secrets/token plant-store serve --host 0.0.0.0 --log-format json',
  ],
  async run({ values, settings }, terminal) {
    demandTwoPorts(values);
    demandDatabase(values);
    const { store } = values;
    const warnings = checkStart(store, terminal.userId);
    const { 'log-format': format, 'log-level': level } = values;
    const readable = format === 'text' || (format === 'auto' && terminal.errorsWidth !== undefined);
    const serviceLog = await openLog({ level, readable, colors: terminal.errorsHaveColors });
    const { log } = serviceLog;
    terminal.onExit(serviceLog.writeLast);
    // The service goes on if its welcome cannot be written.
    terminal.onOutputFailed(() => undefined);
    const config = serviceConfig(values, settings, terminal.env);
    // Before the start, so that a signal during the start is not lost.
    const signal = new Promise<{ signal: string }>((resolve) => {
      terminal.onStopSignal((name) => resolve({ signal: name }));
    });
    let readAgain = () => {};
    terminal.onHangup(() => readAgain());
    const supervisor = systemd(terminal.env, process.pid);
    using starting = supervisor.reportStarting();
    await demandStore(values, log);
    {
      // A repair or an upgrade may take minutes, and is safe to end.
      using _ = atInterruption(terminal, 'the start');
      await prepareStore(store, log, terminal);
    }
    const backups = await backupsOf(values, () => service.store, terminal, log);
    const { env } = terminal;
    const service: Service = await startService(config, serviceLog, env, backups?.control).catch(
      (error) => {
        throw listenError(error, '', config.host, config.port, env);
      },
    );
    starting[Symbol.dispose]();
    for (const { name, says } of warnings) log.warn({ check: name }, says);
    // Outside a terminal, standard output and the log may be one file, which must hold only JSON.
    const isWatched = readable || (format === 'auto' && terminal.width !== undefined);
    try {
      // The operator means the empty store, whatever earlier backups hold.
      if (service.store.isNew && values['new-store'] === 'yes')
        await service.store.noteDecision(Date.now());
      const token = await tokenToTry(service, config, values['token-file']);
      // On one terminal, the welcome has these facts.
      const isOneTerminal = terminal.width !== undefined && terminal.errorsWidth !== undefined;
      logStart(service, config, log);
      if (!(isWatched && isOneTerminal)) logFacts(service, config, token, log);
      if (isWatched) for (const line of welcome(service, config, token)) terminal.print(line);
    } catch (error) {
      // So that clients get their replies first.
      await service.close(limits.http.lingerMs, () => undefined);
      throw error;
    }

    readAgain = service.readAgain;
    backups?.start();
    supervisor.reportReady();
    supervisor.watch(service.proveAlive);
    const failure = service.failed.then((message) => ({ failure: message }));
    const reason = await Promise.race([signal, failure]);
    exitWhenStuck(terminal, log, limits.service.drainMs + config.commitMs);
    const jobsEnd = backups?.[Symbol.asyncDispose]();
    const code = await stop(service, reason, log, supervisor);
    await jobsEnd;
    // A welcome that is not read, or a file whose disk does not answer, would keep the process.
    setTimeout(() => terminal.exit(code), limits.http.lingerMs).unref();
    return code;
  },
});

async function stop(
  service: Service,
  reason: { readonly signal: string } | { readonly failure: string },
  log: Log,
  supervisor: Systemd,
): Promise<number> {
  const failed = 'failure' in reason;
  supervisor.reportStopping();
  await service.close(failed ? limits.http.lingerMs : limits.service.drainMs, () => {
    if (failed) log.fatal(reason, 'the service cannot go on; stopping');
    else log.info(reason, 'stopping');
  });
  // A store whose files are gone may notice it only when it is closed.
  const failure = failed ? undefined : await Promise.race([service.store.failed, undefined]);
  if (failure !== undefined) log.fatal({ failure }, 'the store has failed during the stop');
  log.info({}, 'stopped');
  return failed || failure !== undefined ? 1 : 0;
}

function logFacts(service: Service, config: ServiceConfig, token: TokenToTry, log: Log): void {
  const { plantsUrl: url, opsUrl } = service;
  const durability = service.store.durability();
  const store = engineOf(config.store).name;
  if (service.store.isNew) log.warn({ store }, 'there was no store; a new store has been made');
  if (durability)
    log[durability.level === 'lost' ? 'warn' : 'info']({}, `a 200 means: ${durability.says}`);
  log.info({ version, url, opsUrl, store, token: token.where }, 'ready');
}

function logStart(
  { store, lastBeatMs, databaseConnectionsMax: most }: Service,
  { databaseConnections: wanted, fixedToken }: ServiceConfig,
  log: Log,
): void {
  if (lastBeatMs !== undefined) logAge(lastBeatMs, log);
  if (store.durability()) {
    const through = store.pooler === undefined ? '' : `, through ${store.pooler}`;
    const isLess = wanted !== 'auto' && most < wanted;
    const rest = isLess ? `; the threads use no more of --database-connections ${wanted}` : '';
    log.info({}, `at most ${most} connections to the database${through}${rest}`);
  }
  const { fixedTokenCharsMin } = limits.access;
  if (fixedToken !== undefined && fixedToken.length < fixedTokenCharsMin)
    log.warn(
      {},
      'the fixed token is short, and users of this machine may guess it; give it ' +
        `${fixedTokenCharsMin} random characters or more`,
    );
}

/** A restored store has no plants that were created after its last heartbeat, or hardly any. */
export function logAge(lastBeatMs: number, log: Pick<Log, 'info' | 'warn'>): void {
  const ageMs = Date.now() - lastBeatMs;
  const lastHeartbeatAt = new Date(lastBeatMs).toISOString();
  if (ageMs < -limits.store.clocksApartMs)
    log.warn(
      { lastHeartbeatAt },
      'the last heartbeat in the store is in the future: the clock was ahead, or is behind',
    );
  if (ageMs <= limits.ops.heartbeatStaleMs) return;
  log.info(
    { lastHeartbeatAt },
    `the last heartbeat in the store was ${ageText(ageMs)} ago; if the store was restored, ` +
      'plants that were created later are missing',
  );
}

/** @throws CommandError if there is no store, and none is to be made */
async function demandStore(values: ServeValues, log: Log): Promise<void> {
  const { store, 'new-store': choice, 'backup-to': backups } = values;
  const { file, isThere } = engineOf(store);
  // Only backups are remnants of an earlier store in a database.
  if (file === undefined && choice === 'auto' && backups === undefined) return;
  if (await isThere()) {
    const says = '--new-store yes is set, and would make a lost store again; remove the setting';
    if (choice === 'yes') log.warn({}, says);
    return;
  }
  const { prepareNewStore } = await import('../backup/earlier-store.ts');
  await prepareNewStore(values);
}

/** Most services load no code for backups. */
async function backupsOf(
  values: ServeValues,
  opened: () => Service['store'],
  terminal: Terminal,
  log: Log,
): Promise<ServiceBackups | undefined> {
  const { store, 'backup-to': folder, 'backup-keep': keep } = values;
  if (folder === undefined) return undefined;
  const { openBackups } = await import('../backup/schedule.ts');
  const plan = { folder: resolve(folder), keep, everyMs: values['backup-every'] };
  return openBackups(plan, store, opened, terminal.env, log, Date.now);
}

function exitWhenStuck(terminal: Terminal, log: Log, graceMs: number): void {
  const stuck = () => {
    log.fatal({}, 'the service does not stop by itself; giving up');
    // An exit would wait for a thread that waits for a disk. The line of the log is written first.
    setTimeout(() => terminal.endBy('SIGKILL'), limits.service.logRetryMs);
  };
  setTimeout(stuck, graceMs + limits.http.lingerMs + limits.trace.closeMs).unref();
  void terminal.untilInterruptedAgain().then(() => terminal.endBy('SIGINT'));
}
