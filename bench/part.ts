import type { Environment } from './environment.ts';

/** What all parts of a run share. */
export interface Bench {
  /** Folder for the stores. The run removes it at its end. */
  directory: string;
  progress(line: string): void;
}

/** How often and how long a part measures. */
export interface Timing {
  rounds: number;
  warmupMs: number;
  measureMs: number;
}

/** One part of the benchmark. Its result goes into the JSON unchanged. */
export interface Part<Settings, Result> {
  /**
   * @throws Error when a reply is no acknowledgement (200 with the right plant), or a store does
   * not hold exactly the acknowledged plants
   */
  measure(settings: Settings, bench: Bench): Promise<Result>;
  renderTables(result: Result): string[];
  /** @returns an SVG */
  renderPlot?(result: Result, environment: Environment): string;
}

/** Measures round after round. */
export function measureRounds<T>(
  rounds: number,
  { progress }: Bench,
  measure: () => Promise<T>,
): Promise<Awaited<T>[]> {
  return Array.fromAsync({ length: rounds }, (_, index) => {
    progress(`round ${index + 1} of ${rounds}`);
    return measure();
  });
}
