import type { CreateTotals } from '../src/index.ts';

export function createThroughFaults(
  client: typeof import('../src/index.ts'),
  options: { url: string; token: string; count: number; machine: number },
  write: (line: string) => unknown,
): Promise<CreateTotals>;
