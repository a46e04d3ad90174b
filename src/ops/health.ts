import { limits } from '../limits.ts';
import { sizeText } from '../size-text.ts';

/** What must hold for the service to do its work, as `/readyz` shows it. */
interface Check {
  readonly name: 'writes' | 'disk' | 'queue' | 'service';
  readonly ok: boolean;
  /** What is found, with its figure. */
  readonly says: string;
}

/** `ready` if every check is ok. */
interface Readiness {
  readonly ready: boolean;
  readonly checks: readonly Check[];
}

export interface Health {
  check(): Promise<Readiness>;
}

export interface HealthSources {
  /** How long ago the last heartbeat began that has been stored; undefined before the first. */
  readonly heartbeatAgeMs: () => number | undefined;
  readonly heartbeatFailures: () => { readonly count: number; readonly reason: string } | undefined;
  /** Undefined for a store that is not on a disk of this machine. Rejects where the disk cannot be asked. */
  readonly freeBytes: () => Promise<number | undefined>;
  readonly queuePlants: () => number;
  readonly queuePlantsMax: number;
  readonly isStopping: () => boolean;
}

/** Tells whether creates are stored now. */
export function createHealth(sources: HealthSources): Health {
  function writes(): Check {
    const ageMs = sources.heartbeatAgeMs();
    const failures = sources.heartbeatFailures();
    const reason = failures === undefined ? '' : `the last one has failed: ${failures.reason}; `;
    if (ageMs === undefined) return { name: 'writes', ok: false, says: `${reason}no transaction has been stored since the start` };
    const ok = ageMs <= limits.heartbeatStaleMs && (failures?.count ?? 0) < limits.heartbeatFailuresMax;
    return { name: 'writes', ok, says: `${reason}a transaction was stored ${(ageMs / 1_000).toFixed(1)} s ago` };
  }

  async function disk(): Promise<Check[]> {
    try {
      const freeBytes = await sources.freeBytes();
      if (freeBytes === undefined) return [];
      const says = `${sizeText(freeBytes)} are free for the store`;
      return [{ name: 'disk', ok: freeBytes >= limits.freeBytesMin, says }];
    } catch (error) {
      return [{ name: 'disk', ok: false, says: `the disk of the store does not tell how much is free: ${(error as Error).message}` }];
    }
  }

  function queue(): Check {
    const plants = sources.queuePlants();
    return { name: 'queue', ok: plants < sources.queuePlantsMax, says: `${plants} of ${sources.queuePlantsMax} plants wait to be stored` };
  }

  function service(): Check {
    const stopping = sources.isStopping();
    return { name: 'service', ok: !stopping, says: stopping ? 'it is shutting down' : 'it accepts requests' };
  }

  return {
    async check() {
      const checks = [writes(), ...(await disk()), queue(), service()];
      return { ready: checks.every(({ ok }) => ok), checks };
    },
  };
}
