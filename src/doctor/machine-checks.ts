import { CommandError } from '../cli/command.ts';
import type { Finding } from '../ops/contract.ts';
import { numberText } from '../quantity-text.ts';
import { withinDescriptors } from '../serve/capacity.ts';
import { error, ok } from './start.ts';

export function descriptors(): Finding {
  const found = usualService();
  if (found instanceof CommandError) {
    return error(found.message, 'the shell or supervisor that starts the service sets the limit');
  }
  const { connectionsMax, threadCount } = found;
  const threads = threadCount === 1 ? '1 thread' : `${threadCount} threads`;
  return ok(`enough for ${numberText(connectionsMax)} connections on ${threads}`);
}

/** HTTP threads of a service with default flags; 1 if it has too few descriptors to start. */
export function usualHttpThreads(): number {
  const found = usualService();
  return found instanceof CommandError ? 1 : found.threadCount;
}

function usualService() {
  return withinDescriptors({ httpThreads: 'auto', opsPort: 0, tls: undefined });
}
