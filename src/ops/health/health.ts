import { limits } from '../../limits.ts';
import { numberText, sizeText } from '../../quantity-text.ts';
import type { Durability } from '../../store/store.ts';
import type { Check, Readiness } from '../contract.ts';
import { bestEffort } from '../loading.ts';
import type { Samples } from '../metrics/samples.ts';
import type { Heartbeat } from './heartbeat.ts';

export type Health = ReturnType<typeof createHealth>;

export interface Space {
  readonly freeBytes: number;
  readonly isLow: boolean;
}

export interface HealthSources {
  readonly heartbeat: Pick<Heartbeat, 'ageMs' | 'failures'>;
  readonly threads: readonly Pick<Heartbeat, 'ageMs'>[];
  readonly recentCreates: Samples['recentCreates'];
  /** Missing for a database. Undefined or rejected if the file system does not report it. */
  readonly space: (() => Promise<Space | undefined>) | undefined;
  /** Missing without a folder for backups. Undefined: no backup there tells of a loss. */
  readonly loss: (() => string | undefined) | undefined;
  readonly queuePlants: () => number;
  readonly queuePlantsMax: number;
  readonly phase: () => Phase;
  /** Undefined for a file: what a 200 means never changes. */
  readonly durability: () => Durability | undefined;
  /** Since when a 200 means less than before, in ms since the epoch. */
  readonly weakerSinceMs: () => number | undefined;
}

export type Phase = 'starting' | 'open' | 'stopping';

const phaseTexts: Readonly<Record<Phase, string>> = {
  starting: 'it is starting; the port for clients is not open yet',
  open: 'it accepts requests',
  stopping: 'it is shutting down',
};

const { heartbeatEveryMs, heartbeatStaleMs, heartbeatFailuresMax } = limits.ops;

export function createHealth(sources: HealthSources) {
  function writes(): Check {
    const { created, failed, unavailable } = sources.recentCreates();
    const seconds = heartbeatStaleMs / 1_000;
    // A full disk may have room for a heartbeat but not for a plant.
    if (created === 0 && failed >= heartbeatFailuresMax) {
      const says = `${numberText(failed)} creates have failed in the last ${seconds} s`;
      return check('writes', 'error', `${says}, and none was stored`);
    }
    const beat = heartbeat();
    if (!beat.ok || unavailable === 0) return beat;
    const stored = `creates of the last ${seconds} s: ${numberText(created)} stored`;
    const refused = `${numberText(unavailable)} refused with 50301; the log has the reason`;
    return check('writes', 'warning', `${stored}, ${refused}`);
  }

  function heartbeat(): Check {
    const ageMs = sources.heartbeat.ageMs();
    const { count, reason } = sources.heartbeat.failures() ?? { count: 0, reason: '' };
    const failure = count === 0 ? '' : `the last test write has failed: ${reason}; `;
    if (ageMs === undefined)
      return check('writes', 'error', `${failure}no test write was stored since the start`);
    const isOk = ageMs <= heartbeatStaleMs && count < heartbeatFailuresMax;
    const ago = `${(ageMs / 1_000).toFixed(1)} s ago`;
    // An age alone looks like a stall.
    const every = `a test write every ${heartbeatEveryMs / 1_000} s, the last one ${ago}`;
    const works = `the store takes writes (${every})`;
    const says = `${failure}the last stored test write was ${ago}`;
    return check('writes', isOk ? 'ok' : 'error', isOk && count === 0 ? works : says);
  }

  /** Never an error: the service is ready as long as it stores creates. */
  async function disk(): Promise<Check[]> {
    if (sources.space === undefined) return [];
    const space = await bestEffort(sources.space());
    if (space === undefined)
      return [check('disk', 'warning', 'the file system does not tell how much space is free')];
    const says = `${sizeText(space.freeBytes)} are free for the store`;
    return [
      space.isLow ? check('disk', 'warning', `only ${says}; make room`) : check('disk', 'ok', says),
    ];
  }

  function durability(): Check[] {
    const current = sources.durability();
    if (current === undefined) return [];
    const { level, says } = current;
    const sinceMs = sources.weakerSinceMs();
    if (sinceMs === undefined)
      return [check('promise', level === 'lost' ? 'warning' : 'ok', `a 200 means: ${says}`)];
    const since = new Date(sinceMs).toISOString();
    return [check('promise', 'warning', `a 200 means less since ${since}: ${says}`)];
  }

  /** Never an error: creates are stored. */
  function plants(): Check[] {
    if (sources.loss === undefined) return [];
    const loss = sources.loss();
    const says = 'the store lacks no plant that a backup of it is known to have';
    return [loss === undefined ? check('plants', 'ok', says) : check('plants', 'warning', loss)];
  }

  function queue(): Check {
    const plants = sources.queuePlants();
    const of = `${numberText(plants)} of ${numberText(sources.queuePlantsMax)}`;
    const level = plants < sources.queuePlantsMax ? 'ok' : 'error';
    return check('queue', level, `${of} plants wait to be stored`);
  }

  function service(): Check {
    const phase = sources.phase();
    // A thread that has never answered is silent since the start of the process.
    const agesMs = sources.threads.map(({ ageMs }) => ageMs() ?? performance.now());
    const silentMs = Math.max(...agesMs);
    if (phase === 'open' && silentMs > heartbeatStaleMs) {
      const says = `an HTTP thread has not answered for ${(silentMs / 1_000).toFixed(1)} s`;
      return check('service', 'error', says);
    }
    return check('service', phase === 'open' ? 'ok' : 'error', phaseTexts[phase]);
  }

  return {
    /** Whether creates are stored now, and what that depends on. */
    async check(): Promise<Readiness> {
      // Before the others: a file system may answer late.
      const ofDisk = await disk();
      const checks = [writes(), ...durability(), ...ofDisk, ...plants(), queue(), service()];
      return { ready: checks.every(({ ok }) => ok), checks };
    },
  };
}

function check(name: Check['name'], level: Check['level'], says: string): Check {
  return { name, ok: level !== 'error', level, says };
}
