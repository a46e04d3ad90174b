import { DescriptorsError, withinDescriptors } from '../../service/descriptors.ts';
import { error, type Finding, ok, warning } from './check.ts';

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
  const found = usualService();
  if (found instanceof DescriptorsError) {
    return error(
      found.message,
      'the limit is that of the shell or supervisor that starts the service',
    );
  }
  const { connectionsMax, threadCount } = found;
  return ok(
    `enough for ${connectionsMax} connections on ${threadCount} ${threadCount === 1 ? 'thread' : 'threads'}`,
  );
}

/**
 * How many threads a service has here that is not told; one if there are too few descriptors for it
 * to start.
 */
export function usualHttpThreads(): number {
  const found = usualService();
  return found instanceof DescriptorsError ? 1 : found.threadCount;
}

/** What the descriptors of this process allow one that is not told. */
function usualService(): ReturnType<typeof withinDescriptors> | DescriptorsError {
  try {
    return withinDescriptors({ httpThreads: 'auto', connectionsMax: 'auto', opsPort: 0 });
  } catch (cause) {
    if (cause instanceof DescriptorsError) return cause;
    throw cause;
  }
}

/** The year in which this was first released: a clock that is before it was never set. */
const releaseMs = Date.UTC(2026, 0);

export function clock({ nowMs }: Machine): Finding {
  const now = new Date(nowMs).toISOString();
  if (nowMs >= releaseMs) return ok(`it is ${now}`);
  return error(
    `it is ${now}, which cannot be: times of plants and tokens would be wrong`,
    'set the clock, best by a time server',
  );
}
