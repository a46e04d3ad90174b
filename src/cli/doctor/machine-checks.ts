import { DescriptorsError, withinDescriptors } from '../../service/descriptors.ts';
import { error, type Finding, ok, warning } from './check.ts';

/** Facts for the checks of every engine. */
export interface Machine {
  /** Undefined on Windows. */
  readonly userId: number | undefined;
  readonly nowMs: number;
}

export function user({ userId }: Machine): Finding | undefined {
  if (userId === undefined) return undefined;
  if (userId !== 0) return ok(`${userId}`);
  return warning(
    'the program runs as root, and does not need to',
    'run the program as a user of its own',
  );
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

/** HTTP threads of a service with default flags; 1 if it has too few descriptors to start. */
export function usualHttpThreads(): number {
  const found = usualService();
  return found instanceof DescriptorsError ? 1 : found.threadCount;
}

/** Threads and connections of a service with default flags. */
function usualService(): ReturnType<typeof withinDescriptors> | DescriptorsError {
  try {
    return withinDescriptors({ httpThreads: 'auto', connectionsMax: 'auto', opsPort: 0 });
  } catch (cause) {
    if (cause instanceof DescriptorsError) return cause;
    throw cause;
  }
}

/** An earlier clock was never set: the first release was in this year. */
const releaseMs = Date.UTC(2026, 0);

export function clock({ nowMs }: Machine): Finding {
  const now = new Date(nowMs).toISOString();
  if (nowMs >= releaseMs) return ok(`it is ${now}`);
  return error(
    `it is ${now}, which cannot be: the times of plants and tokens would be wrong`,
    'set the clock, preferably by a time server',
  );
}
