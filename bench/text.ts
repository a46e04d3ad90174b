/** Wording that tables, plots and progress share. */
import type { Timing } from './part.ts';

/** The connections of full load, for which the figures have their targets. */
export const fullLoadConnections = 256;

export function connectionsText(connections: number): string {
  return connections === 1 ? '1 connection' : `${connections} connections`;
}

/** Without `decimals`: as many as the number has, at most 3. */
export function numberText(value: number, decimals?: number): string {
  return value.toLocaleString(
    'en',
    decimals === undefined
      ? {}
      : { minimumFractionDigits: decimals, maximumFractionDigits: decimals },
  );
}

export function durationText(ms: number): string {
  return ms >= 60_000 ? `${ms / 60_000} min` : `${ms / 1000} s`;
}

export function timesText({ warmupMs, measureMs }: Omit<Timing, 'rounds'>): string {
  return `${durationText(measureMs)} after ${durationText(warmupMs)} of warm-up`;
}

export function roundsText(timing: Timing): string {
  return `${timing.rounds} of ${timesText(timing)}; median (min to max)`;
}

/** In millions from a million on. */
export function plantsText(plants: number): string {
  return plants >= 1e6
    ? `${numberText(Math.round(plants / 1e5) / 10)} M plants`
    : `${numberText(plants, 0)} plants`;
}
