/** How long each part is measured, in each of the three forms of a run. */
import type { IdKind } from './ids.ts';
import type { GrowthSettings } from './parts/growth.ts';
import type { LatencySettings } from './parts/latency.ts';
import type { LoadSettings } from './parts/load.ts';
import type { MemorySettings } from './parts/memory.ts';
import type { PostgresSettings } from './parts/postgres.ts';
import type { ProfileSettings } from './parts/profile.ts';
import type { StartSettings } from './parts/start.ts';
import type { TransferSettings } from './parts/transfer.ts';
import type { WriterSettings } from './parts/writer.ts';
import { type TargetName, targets } from './targets.ts';

export interface Settings {
  load: LoadSettings;
  latency: LatencySettings;
  growth: GrowthSettings;
  writer: WriterSettings;
  transfer: TransferSettings;
  start: StartSettings;
  memory: MemorySettings;
  postgres: PostgresSettings;
  profile: ProfileSettings;
}

export type FormName = 'quick' | 'default' | 'full';

const allLoads = { connections: [256, 64, 1], targets: Object.keys(targets) as TargetName[] };
const shares = {
  capacityShares: [0.25, 0.5, 0.75],
  targets: ['noop', 'service'] satisfies TargetName[],
};
const growingIds = { ids: ['ascending', 'snowflake', 'random'] satisfies IdKind[] };
const batches = {
  batchPlants: [100, 1_000, 10_000],
  ids: ['ascending', 'random'] satisfies IdKind[],
};

export const forms: Record<FormName, Settings> = {
  /** Shows that everything works; its figures are rough. */
  quick: {
    load: { ...allLoads, rounds: 1, warmupMs: 200, measureMs: 400 },
    latency: { ...shares, rounds: 1, warmupMs: 200, measureMs: 400 },
    growth: { ...growingIds, rounds: 1, warmupMs: 200, measureMs: 400, sizes: [0, 50_000] },
    writer: { ...batches, rounds: 1, warmupMs: 100, measureMs: 200 },
    transfer: { rounds: 1, plants: 50_000 },
    start: { rounds: 2, plants: 50_000 },
    memory: { warmupMs: 1000, measureMs: 2500 },
    postgres: { rounds: 1, warmupMs: 150, measureMs: 250 },
    profile: { measureMs: 1500 },
  },
  default: {
    load: { ...allLoads, rounds: 3, warmupMs: 1500, measureMs: 2500 },
    latency: { ...shares, rounds: 2, warmupMs: 1000, measureMs: 5000 },
    growth: {
      ...growingIds,
      rounds: 2,
      warmupMs: 1000,
      measureMs: 2000,
      sizes: [0, 1_000_000, 2_000_000],
    },
    writer: { ...batches, rounds: 3, warmupMs: 500, measureMs: 1500 },
    transfer: { rounds: 3, plants: 1_000_000 },
    start: { rounds: 7, plants: 1_000_000 },
    memory: { warmupMs: 10_000, measureMs: 30_000 },
    postgres: { rounds: 5, warmupMs: 1500, measureMs: 2500 },
    profile: { measureMs: 8_000 },
  },
  full: {
    load: { ...allLoads, rounds: 5, warmupMs: 2000, measureMs: 10_000 },
    latency: { ...shares, rounds: 5, warmupMs: 2000, measureMs: 20_000 },
    growth: {
      ...growingIds,
      rounds: 3,
      warmupMs: 2000,
      measureMs: 5000,
      sizes: [0, 1_000_000, 2_000_000, 5_000_000, 10_000_000, 20_000_000],
    },
    writer: { ...batches, rounds: 5, warmupMs: 1000, measureMs: 5000 },
    transfer: { rounds: 5, plants: 5_000_000 },
    start: { rounds: 15, plants: 10_000_000 },
    memory: { warmupMs: 60_000, measureMs: 600_000 },
    postgres: { rounds: 5, warmupMs: 2000, measureMs: 10_000 },
    profile: { measureMs: 20_000 },
  },
};
