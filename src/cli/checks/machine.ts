import { DescriptorsError, withinDescriptors } from '../../descriptors.ts';
import { error, type Finding, ok, warning } from './finding.ts';

/** What the checks of every engine are told of the machine. */
export interface Machine {
  /** Undefined on Windows. */
  readonly userId: number | undefined;
  readonly nowMs: number;
}

export function user({ userId }: Machine): Finding | undefined {
  if (userId === undefined) return undefined;
  if (userId !== 0) return ok(`${userId}`);
  return warning('the program runs as root, which it does not need', 'run it as a user of its own');
}

export function descriptors(): Finding {
  try {
    const { connectionsMax, threadCount } = withinDescriptors({ httpThreads: 'auto', connectionsMax: 'auto', opsPort: 0 });
    return ok(`enough for ${connectionsMax} connections on ${threadCount} ${threadCount === 1 ? 'thread' : 'threads'}`);
  } catch (cause) {
    if (!(cause instanceof DescriptorsError)) throw cause;
    return error(cause.message, 'the limit is that of the shell or supervisor that starts the service');
  }
}

/** How many threads a service has here that is not told; one if there are too few descriptors for it to start. */
export function usualHttpThreads(): number {
  try {
    return withinDescriptors({ httpThreads: 'auto', connectionsMax: 'auto', opsPort: 0 }).threadCount;
  } catch (cause) {
    if (!(cause instanceof DescriptorsError)) throw cause;
    return 1;
  }
}

/** The year in which this was first released: a clock that is before it was never set. */
const releaseMs = Date.UTC(2026, 0);

export function clock({ nowMs }: Machine): Finding {
  const now = new Date(nowMs).toISOString();
  if (nowMs >= releaseMs) return ok(`it is ${now}`);
  return error(`it is ${now}, which cannot be: times of plants and tokens would be wrong`, 'set the clock, best by a time server');
}
