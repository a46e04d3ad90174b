/** How long each part measures in each form of a run. */
import type { IdKind } from './ids.ts';
import type { Settings } from './parts.ts';
import { type TargetName, targets } from './targets.ts';

export type FormName = 'quick' | 'default' | 'full';

const allLoads = { connections: [256, 64, 1], targets: Object.keys(targets) as TargetName[] };
const shares = {
  capacityShares: [0.25, 0.5, 0.75],
  targets: ['noop', 'service'] satisfies TargetName[],
};
const growingIds = { ids: ['ascending', 'snowflake', 'random'] satisfies IdKind[] };
const million = 1_000_000;

export const forms: Record<FormName, Settings> = {
  /** Shows that everything works. Its figures are rough. */
  quick: {
    load: { ...allLoads, connections: [256, 1], ...timing(1, 200, 400) },
    latency: { ...shares, ...timing(1, 200, 400) },
    backup: { ...timing(1, 200, 400), plants: 50_000 },
    growth: { ...growingIds, ...timing(1, 200, 400), sizes: [0, 50_000] },
    transfer: { rounds: 1, plants: 50_000 },
    start: { rounds: 2, plants: 50_000 },
    memory: { warmupMs: 1000, measureMs: 2500 },
    postgres: timing(1, 150, 250),
  },
  default: {
    load: { ...allLoads, ...timing(3, 1500, 2500) },
    latency: { ...shares, ...timing(2, 1000, 5000) },
    backup: { ...timing(3, 1000, 5000), plants: million },
    growth: { ...growingIds, ...timing(2, 1000, 2000), sizes: [0, million, 2 * million] },
    transfer: { rounds: 3, plants: million },
    start: { rounds: 7, plants: million },
    memory: { warmupMs: 10_000, measureMs: 30_000 },
    postgres: timing(5, 1500, 2500),
  },
  full: {
    load: { ...allLoads, ...timing(5, 2000, 10_000) },
    latency: { ...shares, ...timing(5, 2000, 20_000) },
    backup: { ...timing(3, 2000, 20_000), plants: 10 * million },
    growth: {
      ...growingIds,
      ...timing(3, 2000, 5000),
      sizes: [0, 1, 2, 5, 10, 20].map((millions) => millions * million),
    },
    transfer: { rounds: 5, plants: 5 * million },
    start: { rounds: 15, plants: 10 * million },
    memory: { warmupMs: 60_000, measureMs: 600_000 },
    postgres: timing(5, 2000, 10_000),
  },
};

function timing(rounds: number, warmupMs: number, measureMs: number) {
  return { rounds, warmupMs, measureMs };
}
