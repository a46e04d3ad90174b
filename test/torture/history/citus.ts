import { setTimeout as delay } from 'node:timers/promises';
import type { Citus } from '../../helpers/citus.ts';
import { type Fault, type NodeSetting, untilRefused } from './faults.ts';

type CitusFault = Fault<Citus & NodeSetting & { readonly faultMs: number }>;

export const citusFaults: Readonly<Record<string, CitusFault>> = {
  async 'a worker is killed'({ workers, ...setting }) {
    await workers[0]?.kill();
    await untilRefused(setting);
    await workers[0]?.start();
  },
  async 'a worker stands still'({ workers, faultMs }) {
    workers[1]?.pause();
    await delay(faultMs);
    workers[1]?.resume();
  },
  async 'the coordinator is killed'({ coordinator, ...setting }) {
    await coordinator.kill();
    await untilRefused(setting);
    await coordinator.start();
  },
};
