import { percentile } from '../src/prove/percentile.ts';

/** A figure over the rounds of a run. */
export interface Spread {
  median: number;
  min: number;
  max: number;
}

/** Null when there is nothing to take the spread of. */
export function spread(values: Iterable<number | null | undefined>): Spread | null {
  const ascending = [...values].filter((value) => typeof value === 'number').sort((a, b) => a - b);
  if (ascending.length === 0) return null;
  return {
    median: (percentile(ascending, 0.5) + percentile(ascending.toReversed(), 0.5)) / 2,
    min: percentile(ascending, 0),
    max: percentile(ascending, 1),
  };
}

/** Of the straight line that is nearest to the points by least squares; null for fewer than two. */
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
