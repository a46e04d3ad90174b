import { percentile } from '../src/prove/fdatasync.ts';

type Values = Iterable<number | Missing>;
type Missing = null | undefined;

/** One value over the rounds of a run. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** Leaves out missing values. Null when no value is left. */
export function spread(values: Values): Spread | null {
  const ascending = [...values].filter((value) => typeof value === 'number').sort((a, b) => a - b);
  if (ascending.length === 0) return null;
  return {
    median: (percentile(ascending, 0.5) + percentile(ascending.toReversed(), 0.5)) / 2,
    min: percentile(ascending, 0),
    max: percentile(ascending, 1),
  };
}

/** Null unless both are numbers. */
export function difference(value: number | Missing, base: number | Missing): number | null {
  return typeof value === 'number' && typeof base === 'number' ? value - base : null;
}

/** Null unless both are numbers. */
export function ratio(value: number | Missing, base: number | Missing): number | null {
  return typeof value === 'number' && typeof base === 'number' ? value / base : null;
}

/** The slope of the regression line (least squares). Null for fewer than two points. */
export function slope(points: readonly { x: number; y: number }[]): number | null {
  if (points.length < 2) return null;
  const [meanX, meanY] = [mean(points.map(({ x }) => x)), mean(points.map(({ y }) => y))];
  const covariance = points.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0);
  const variance = points.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0);
  return covariance / variance;
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
