import assert from 'node:assert/strict';
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type Owner, ownerOf } from '../helpers/program.ts';

/** What every run gets beside its own numbers. */
export interface Run {
  /** A new folder, which stays if there are violations. */
  readonly folder: string;
  readonly owner: Owner;
  readonly seed: number;
  readonly report: (line: string) => void;
}

interface Result {
  readonly violations: readonly string[];
  /** What has passed or failed, in a line. */
  readonly summary: string;
}

/**
 * Runs a torture as a command, and fails if there are violations.
 *
 * @param defaults the numbers that its flags change. `--seed` is one more, and random by default
 */
export async function runAsCommand<Flag extends string>(
  name: string,
  defaults: Readonly<Record<Flag, number>>,
  torture: (run: Run & Readonly<Record<Flag, number>>) => Promise<Result>,
): Promise<void> {
  const numbers = { ...defaults, seed: Math.floor(Math.random() * 2 ** 24) };
  const flags = Object.keys(numbers).map((flag) => [flag, { type: 'string' } as const]);
  const { values } = parseArgs({ options: Object.fromEntries(flags) });
  for (const [flag, value] of Object.entries(values)) {
    assert(Number(value) >= 0, `--${flag} must be a number from 0 on`);
    Object.assign(numbers, { [flag]: Number(value) });
  }
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `plant-store-${name}-`)));
  console.log(`${JSON.stringify(numbers)}, in ${folder}`);
  const startedMs = performance.now();
  const { violations, summary } = await (async () => {
    await using stack = new AsyncDisposableStack();
    return await torture({ ...numbers, folder, owner: ownerOf(stack), report: console.log });
  })();
  for (const violation of violations.slice(0, 20)) console.log(`VIOLATION ${violation}`);
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  const verdict =
    violations.length === 0 ? 'PASSED' : `FAILED with ${violations.length} violations`;
  console.log(`${verdict}: ${summary}; ${seconds} s, seed ${numbers.seed}`);
  if (violations.length === 0) rmSync(folder, { recursive: true });
  else process.exitCode = 1;
}

/** How often each name comes. */
export function countsOf(names: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}
