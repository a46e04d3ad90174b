import { write } from 'node:fs';
import type { Environment } from '../cli/flags/environment.ts';
import { limits } from '../limits.ts';

export type Systemd = ReturnType<typeof systemd>;

/** The first descriptor that systemd passes, see sd_listen_fds(3). */
const firstDescriptor = 3;

/** sd_notify(3), over the socket that a unit hands over: `OpenFile=/run/systemd/notify:notify`. */
export function systemd(env: Environment, pid: number) {
  const socket = socketIn(env, pid);
  const report = (state: string) => {
    // A lost report has no other consequence than that systemd waits for the next.
    if (socket !== undefined) write(socket, state, () => undefined);
  };
  return {
    /** Asks for more time, again and again, until the disposal: an upgrade or a repair takes long. */
    reportStarting(): Disposable {
      const ask = () => report(`EXTEND_TIMEOUT_USEC=${3_000 * limits.service.startSignMs}`);
      const asking = setInterval(ask, limits.service.startSignMs);
      ask();
      return { [Symbol.dispose]: () => clearInterval(asking) };
    },
    reportReady: () => report('READY=1'),
    reportStopping: () => report('STOPPING=1'),
    /**
     * Reports a sign of life three times in each `WatchdogSec=`, as long as `prove` resolves.
     * systemd kills a service whose signs of life stay away, and starts the service again.
     */
    watch(prove: () => Promise<unknown>): void {
      const watchdogMs = Number(env['WATCHDOG_USEC']) / 1_000;
      if (socket === undefined || !(watchdogMs > 0)) return;
      const next = () => setTimeout(check, watchdogMs / 3).unref();
      const check = () =>
        prove().then(
          () => {
            report('WATCHDOG=1');
            next();
          },
          // A thread has ended, so the service stops.
          () => undefined,
        );
      next();
    },
  };
}

function socketIn(env: Environment, pid: number): number | undefined {
  if (env['LISTEN_PID'] !== `${pid}`) return undefined;
  const index = env['LISTEN_FDNAMES']?.split(':').indexOf('notify') ?? -1;
  return index < 0 ? undefined : firstDescriptor + index;
}
