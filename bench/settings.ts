/** How long each part is measured, in each of the three forms of a run. */
import type { LatencySettings } from './parts/latency.ts';
import type { LoadSettings } from './parts/load.ts';
import { type TargetName, targets } from './targets.ts';

export interface Settings {
  load: LoadSettings;
  latency: LatencySettings;
}

export type FormName = 'quick' | 'default' | 'full';

const allLoads = { connections: [256, 64, 1], targets: Object.keys(targets) as TargetName[] };
const shares = { capacityShares: [0.25, 0.5, 0.75], targets: ['noop', 'service'] satisfies TargetName[] };

export const forms: Record<FormName, Settings> = {
  /** Shows that everything works; its figures are rough. */
  quick: {
    load: { ...allLoads, rounds: 1, warmupMs: 200, measureMs: 400 },
    latency: { ...shares, rounds: 1, warmupMs: 200, measureMs: 400 },
  },
  default: {
    load: { ...allLoads, rounds: 3, warmupMs: 1500, measureMs: 2500 },
    latency: { ...shares, rounds: 2, warmupMs: 1000, measureMs: 5000 },
  },
  full: {
    load: { ...allLoads, rounds: 5, warmupMs: 2000, measureMs: 10_000 },
    latency: { ...shares, rounds: 5, warmupMs: 2000, measureMs: 20_000 },
  },
};
