import { pino } from 'pino';
import { type ProblemName, problems } from './contract/problems.ts';
import type { ListenerEvents } from './http/exchange.ts';
import { limits } from './limits.ts';

/** One event a call: fields first, then what happened. No token may ever get into it. */
export type Log = Record<'debug' | 'info' | 'warn' | 'error' | 'fatal', (fields: object, message: string) => void>;

export interface LogOptions {
  readonly level: string;
  /** Lines for people instead of JSON. */
  readonly readable: boolean;
  readonly colors: boolean;
}

const standardError = 2;

/** Logs to standard error, synchronously, so that the last words before an exit are not lost. */
export async function openLog({ level, readable, colors }: LogOptions): Promise<Log> {
  const log: Log = pino(
    {
      level,
      base: { pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    readable ? await linesForPeople(colors) : pino.destination({ dest: standardError, sync: true }),
  );
  return log;
}

async function linesForPeople(colorize: boolean) {
  const { default: pretty } = await import('pino-pretty');
  return pretty({ destination: standardError, sync: true, colorize, ignore: 'pid', translateTime: 'SYS:HH:MM:ss' });
}

/**
 * Logs what happens to requests. A refusal is the client's affair and may come ten thousand times a second: each is a
 * line at `debug` only, and at `info` (`warn` if the service is the cause) there is one summary every so often, by kind.
 */
export function logExchanges(log: Log): Disposable & { readonly events: ListenerEvents } {
  let counts = new Map<ProblemName, number>();

  function summarize(): void {
    if (counts.size === 0) return;
    const byCode = [...counts].map(([name, count]) => [problems[name].code, count] as const);
    const level = byCode.some(([code]) => code >= 50000) ? 'warn' : 'info';
    log[level]({ refused: Object.fromEntries(byCode) }, 'requests refused, by error code');
    counts = new Map();
  }

  const summarizing = setInterval(summarize, limits.refusalSummaryMs);
  return {
    events: {
      refused({ problem, message }, requestId) {
        counts.set(problem, (counts.get(problem) ?? 0) + 1);
        log.debug({ requestId, code: problems[problem].code, reason: message }, 'request refused');
      },
      failed: (error, requestId) => log.error({ requestId, err: error }, 'a request has met a defect'),
    },
    [Symbol.dispose]() {
      clearInterval(summarizing);
      summarize();
    },
  };
}
