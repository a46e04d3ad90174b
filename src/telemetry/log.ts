import { type ProblemName, problems } from '../contract/problems.ts';
import type { ListenerEvents } from '../http/exchange.ts';
import { limits } from '../limits.ts';
import type { StoreError } from '../store/errors.ts';
import { sharedCounters, sharedMemory } from '../threads/shared-counter.ts';
import { isStoreOutage } from '../tokens/access.ts';
import { boundedLines, type LineMemory, openLineWriter } from './line-writer.ts';

/** Logs one event: its fields, and what happened. A field must not hold a token. */
export type Log = Record<
  'debug' | 'info' | 'warn' | 'error' | 'fatal',
  (fields: object, message: string) => void
>;

interface LogOptions {
  readonly level: string;
  readonly readable: boolean;
  readonly colors: boolean;
}

export type ServiceLog = Awaited<ReturnType<typeof openLog>>;

export interface ThreadLogOptions {
  readonly level: string;
  readonly lines: LineMemory;
}

/** The log of the process: its lines go to standard error, and no caller waits for them. */
export async function openLog({ level, readable, colors }: LogOptions) {
  const lines: LineMemory = sharedMemory(['waiting', 'dropped']);
  const counters = sharedCounters(lines);
  let noticeLine = '';
  const notices = await jsonLog('warn', { write: (line) => (noticeLine = line) });
  const shown = readable ? await textOf(colors) : (line: string) => line;
  const writer = openLineWriter(counters, (dropped) => {
    notices.warn({ dropped }, 'log lines were dropped, because standard error took none');
    return shown(noticeLine);
  });
  const writeLine = (line: string) => writer.write(shown(line));
  return {
    log: await jsonLog(level, boundedLines(lines, writeLine)),
    /** For `openThreadLog` on other threads. */
    forThreads: { level, lines },
    writeLine,
    droppedLines: counters.dropped.count,
    /** Writes what waits, as far as this takes no time. For the end of the process. */
    writeLast: writer.writeLast,
  };
}

/** @param pass takes lines to `ServiceLog.writeLine` */
export function openThreadLog(
  { level, lines }: ThreadLogOptions,
  pass: (line: string) => void,
): Promise<Log> {
  return jsonLog(level, boundedLines(lines, pass));
}

async function jsonLog(level: string, lines: { write(line: string): void }): Promise<Log> {
  // Most commands log nothing, and so do not load the library.
  const { default: pino } = await import('pino');
  const log: Log = pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: {
        err: (error: Error) => ({
          ...pino.stdSerializers.err(error),
          message: messageOf(error),
          // A stack tells nothing of what a store cannot do now. Another thread has lost its class.
          ...('failure' in error && error.failure !== 'defect' && { stack: undefined }),
        }),
      },
    },
    lines,
  );
  return log;
}

/** With the messages of the causes that are not in it already. */
function messageOf({ message, cause }: Error): string {
  const reason = cause instanceof Error ? messageOf(cause) : '';
  return message.includes(reason) ? message : `${message}: ${reason}`;
}

async function textOf(colorize: boolean): Promise<(line: string) => string> {
  // The bundle knows the default export only.
  const { default: pretty } = await import('pino-pretty');
  return pretty.prettyFactory({ colorize, ignore: 'pid', translateTime: 'SYS:HH:MM:ss' });
}

/** Whether the lines of an outage have all that is known. */
export function isOutageOnly(error: Error | StoreError): boolean {
  const isOutage = 'failure' in error && error.failure === 'unavailable';
  return isOutage && messageOf(error) === error.message;
}

export interface LogEvents extends ListenerEvents {
  transactionFailed(error: Error, plants: number): void;
}

/**
 * Logs events that may come ten thousand times a second. In each interval
 * (`limits.service.logSummaryMs`), the first refusals have lines at `info`, as has the first failed
 * transaction; the others have lines at `debug`, and one line at its end counts them. What belongs
 * to an outage has lines at `debug` only: `watchStore` logs it.
 *
 * @param threads among which `limits.service.refusalLinesMax` is divided
 */
export function logEvents(log: Log, threads: number): Disposable & LogEvents {
  const linesMax = Math.ceil(limits.service.refusalLinesMax / threads);
  let lines = 0;
  let refusals = new Map<ProblemName, number>();
  let failures = 0;

  function summarize(): void {
    if (refusals.size > 0) {
      const byCode = [...refusals].map(([name, count]) => [problems[name].code, count] as const);
      const level = byCode.some(([code]) => code >= 50000) ? 'warn' : 'info';
      log[level](
        { refused: Object.fromEntries(byCode) },
        'further requests refused, by error code',
      );
    }
    if (failures > 1) log.warn({ failed: failures }, 'transactions failed');
    refusals = new Map();
    lines = 0;
    failures = 0;
  }

  const summarizing = setInterval(summarize, limits.service.logSummaryMs);
  return {
    refused(refusal, exchange) {
      const { problem, message, cause } = refusal;
      const isOutage = isStoreOutage(refusal);
      const hasLine = !isOutage && lines < linesMax;
      if (hasLine) lines += 1;
      else if (!isOutage) refusals.set(problem, (refusals.get(problem) ?? 0) + 1);
      const { code } = problems[problem];
      // Read only where the line is logged: the address takes a system call.
      const fields = {
        requestId: exchange.requestId,
        get client() {
          return exchange.address;
        },
        code,
        token: exchange.observer?.name,
        reason: message,
        cause,
        ...traceFields(exchange.label),
      };
      log[hasLine ? 'info' : 'debug'](fields, 'request refused');
    },
    failed: (err, { requestId, label }) =>
      log.error({ requestId, err, ...traceFields(label) }, 'a request has met a defect'),
    transactionFailed(error, plants) {
      if (isOutageOnly(error)) return log.debug({ err: error, plants }, 'a transaction has failed');
      failures += 1;
      if (failures === 1) log.error({ err: error, plants }, 'a transaction has failed');
    },
    [Symbol.dispose]() {
      clearInterval(summarizing);
      summarize();
    },
  };
}

/** W3C Trace Context §3.2, as OpenTelemetry names the ids. A malformed field is no error (§4.3). */
function traceFields(traceparent: string | undefined): object {
  const [, traceId, spanId, flags] =
    /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(traceparent ?? '') ?? [];
  return traceId === undefined ? {} : { trace_id: traceId, span_id: spanId, trace_flags: flags };
}
