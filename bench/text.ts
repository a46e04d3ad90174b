/** Wording that tables, plots and progress share. */
import type { Spread } from './statistics.ts';

/** Without `decimals`: as many as the number has, at most 3. */
export function numberText(value: number, decimals?: number): string {
  const digits = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return value.toLocaleString('en', digits);
}

export function connectionsText(connections: number): string {
  return `${numberText(connections)} connection${connections === 1 ? '' : 's'}`;
}

/** In millions from a million on. */
export function plantsText(plants: number): string {
  return plants >= 1e6 ? `${numberText(plants / 1e6)} M plants` : `${numberText(plants)} plants`;
}

export function spreadText(value: Spread | null, decimals: number): string {
  if (value === null) return '-';
  const [median, min, max] = [value.median, value.min, value.max].map((part) =>
    numberText(part, decimals),
  );
  return value.min === value.max ? `${median}` : `${median} (${min} to ${max})`;
}
