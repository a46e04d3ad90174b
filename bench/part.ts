/** What every part of the benchmark is made of. */
import type { Measure, Row } from './measurement.ts';
import type { Plot } from './plot.ts';
import type { TargetName } from './targets.ts';
import { connectionsText } from './text.ts';

/** Full load, for which the figures have their targets. */
export const fullLoad = { connections: 256, text: connectionsText(256) };

/** Of all parts. Each takes what it needs. */
export interface Settings {
  rounds: number;
  warmupMs: number;
  measureMs: number;
  /** The length of the part `memory`. */
  memoryMs: number;
  /** In a store that is filled. */
  plants: number;
  /** Of stores that grow, ascending. */
  sizes: number[];
  targets: TargetName[];
  connections: number[];
  /** Added to each sync of a target. */
  syncDelaysMs: number[];
}

/** What all parts of a run share. */
export interface Bench {
  /** Folder for the stores. The run removes it at its end. */
  directory: string;
  progress(line: string): void;
}

/** What a part has measured: one table and one plot. It goes into the JSON unchanged. */
export interface PartResult {
  /** Printed above the table. */
  conditions: Record<string, string>;
  columns: Measure[];
  rows: Row[];
  plot: Plot;
}

/** Measures round after round. */
export async function measureRounds(
  { rounds }: Settings,
  { progress }: Bench,
  measure: () => Promise<unknown>,
): Promise<void> {
  for (let round = 1; round <= rounds; round++) {
    progress(`round ${round} of ${rounds}`);
    await measure();
  }
}
