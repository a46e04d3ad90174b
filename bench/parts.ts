/** The parts of the benchmark in the order in which they run, and how much each form measures. */
import type { Bench, PartResult, Settings } from './part.ts';
import { measureBackup } from './parts/backup.ts';
import { measureGrowth } from './parts/growth.ts';
import { measureLatency } from './parts/latency.ts';
import { measureLoad } from './parts/load.ts';
import { measureMemory } from './parts/memory.ts';
import { measurePostgres } from './parts/postgres.ts';
import { measureStart } from './parts/start.ts';

export type FormName = 'quick' | 'default' | 'full';
export type PartName = keyof typeof parts;

/**
 * @throws Error when a reply is no acknowledgement (200 with the right plant), or a store does not
 * hold exactly the acknowledged plants
 */
type Measuring = (settings: Settings, bench: Bench) => Promise<PartResult>;

export const parts = {
  load: measureLoad,
  latency: measureLatency,
  backup: measureBackup,
  growth: measureGrowth,
  start: measureStart,
  memory: measureMemory,
  postgres: measurePostgres,
  peers: measureLoad,
} satisfies Record<string, Measuring>;

const million = 1_000_000;

const forms: Record<FormName, Omit<Settings, 'targets' | 'connections' | 'syncDelaysMs'>> = {
  /** Shows that everything works. Its figures are rough. */
  quick: { ...times(1, 200, 400, 2_500), plants: 50_000, sizes: [0, 50_000] },
  default: {
    ...times(3, 1_500, 2_500, 30_000),
    plants: million,
    sizes: [0, million, 2 * million],
  },
  full: {
    ...times(5, 2_000, 10_000, 600_000),
    plants: 10 * million,
    sizes: [0, 1, 2, 5, 10, 20].map((millions) => millions * million),
  },
};

function times(rounds: number, warmupMs: number, measureMs: number, memoryMs: number) {
  return { rounds, warmupMs, measureMs, memoryMs };
}

export function settingsOf(name: PartName, form: FormName): Settings {
  if (name === 'peers')
    return {
      ...forms[form],
      targets: ['noop', 'service', 'rust', 'go', 'full', 'pocketbase', 'pocketbaseFull'],
      connections: [1, 4, 16, 64, 256, 1000],
      syncDelaysMs: [0, 1, 5],
    };
  return {
    ...forms[form],
    targets: name === 'latency' ? ['noop', 'service'] : ['noop', 'service', 'full', 'normal'],
    connections: [1, 64, 256],
    syncDelaysMs: [0],
  };
}
