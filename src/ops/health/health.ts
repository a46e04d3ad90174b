import { limits } from '../../limits.ts';
import { sizeText } from '../../size-text.ts';
import { known } from '../known.ts';
import type { RecentCreates } from '../metrics/samples.ts';

/** One of the things that creates depend on, as `/readyz` shows it. */
interface Check {
  readonly name: 'writes' | 'disk' | 'queue' | 'service';
  /** Whether this lets the service be ready: false for an error. */
  readonly ok: boolean;
  /** As in `doctor`: an error makes the service unready, a warning does not. */
  readonly level: 'ok' | 'warning' | 'error';
  /** What is found, with its figure. */
  readonly says: string;
}

/** What a check finds. */
type Finding = Omit<Check, 'ok'>;

/** `ready` if no check has found an error: creates are stored. */
interface Readiness {
  readonly ready: boolean;
  readonly checks: readonly Check[];
}

export interface Health {
  check(): Promise<Readiness>;
}

/** The space that is left for the store, and whether that is to be warned of. */
export interface Space {
  readonly freeBytes: number;
  readonly isLow: boolean;
}

export interface HealthSources {
  /** How long ago the last heartbeat began that has been stored; undefined before the first. */
  readonly heartbeatAgeMs: () => number | undefined;
  readonly heartbeatFailures: () => { readonly count: number; readonly reason: string } | undefined;
  /** How many creates were stored and have failed within `limits.ops.heartbeatStaleMs`. */
  readonly recentCreates: () => RecentCreates;
  /**
   * Missing for a store that is not on a disk of this machine. Undefined, late or rejected where
   * the disk does not tell.
   */
  readonly space: (() => Promise<Space | undefined>) | undefined;
  readonly queuePlants: () => number;
  readonly queuePlantsMax: number;
  readonly isStopping: () => boolean;
}

/** Tells whether creates are stored now. */
export function createHealth(sources: HealthSources): Health {
  function writes(): Finding {
    const { created, failed } = sources.recentCreates();
    // A full disk may have room for a heartbeat and none for a plant.
    if (created === 0 && failed >= limits.ops.heartbeatFailuresMax) {
      const says = `${failed} creates have failed in the last ${limits.ops.heartbeatStaleMs / 1_000} s, and none was stored`;
      return { name: 'writes', level: 'error', says };
    }
    return heartbeat();
  }

  function heartbeat(): Finding {
    const ageMs = sources.heartbeatAgeMs();
    const failures = sources.heartbeatFailures();
    const reason = failures === undefined ? '' : `the last one has failed: ${failures.reason}; `;
    if (ageMs === undefined)
      return {
        name: 'writes',
        level: 'error',
        says: `${reason}no transaction has been stored since the start`,
      };
    const isOk =
      ageMs <= limits.ops.heartbeatStaleMs &&
      (failures?.count ?? 0) < limits.ops.heartbeatFailuresMax;
    return {
      name: 'writes',
      level: isOk ? 'ok' : 'error',
      says: `${reason}a transaction was stored ${(ageMs / 1_000).toFixed(1)} s ago`,
    };
  }

  /** Never an error: while creates are stored, the service is ready on the last free bytes, too. */
  async function disk(): Promise<Finding[]> {
    if (sources.space === undefined) return [];
    const space = await known(sources.space());
    if (space === undefined)
      return [
        {
          name: 'disk',
          level: 'warning',
          says: 'the file system does not tell how much space is free',
        },
      ];
    const says = `${sizeText(space.freeBytes)} are free for the store`;
    return [
      {
        name: 'disk',
        level: space.isLow ? 'warning' : 'ok',
        says: space.isLow ? `only ${says}; make room` : says,
      },
    ];
  }

  function queue(): Finding {
    const plants = sources.queuePlants();
    const level = plants < sources.queuePlantsMax ? 'ok' : 'error';
    return {
      name: 'queue',
      level,
      says: `${plants} of ${sources.queuePlantsMax} plants wait to be stored`,
    };
  }

  function service(): Finding {
    const stopping = sources.isStopping();
    return {
      name: 'service',
      level: stopping ? 'error' : 'ok',
      says: stopping ? 'it is shutting down' : 'it accepts requests',
    };
  }

  return {
    async check() {
      const found = [writes(), ...(await disk()), queue(), service()];
      const checks = found.map(({ name, level, says }) => ({
        name,
        ok: level !== 'error',
        level,
        says,
      }));
      return { ready: checks.every(({ ok }) => ok), checks };
    },
  };
}
