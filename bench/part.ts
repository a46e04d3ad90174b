import type { Environment } from './environment.ts';

/** What the parts of a run share. */
export interface Bench {
  /** Where stores may be made; it is removed in the end. */
  directory: string;
  progress(line: string): void;
}

/**
 * One part of the benchmark: what it measures, and how that is shown. Its result goes into the JSON
 * as it is.
 */
export interface Part<Settings, Result> {
  /**
   * Throws when any answer was not an acknowledgement, or a store does not hold exactly what was
   * acknowledged.
   */
  measure(settings: Settings, bench: Bench): Promise<Result>;
  renderTables(result: Result): string[];
  /** An SVG. */
  renderPlot?(result: Result, environment: Environment): string;
}
