import type { Environment } from './environment.ts';
import type { FigureResult } from './figures.ts';
import type { Measured, Settings } from './rounds.ts';
import type { Spread } from './statistics.ts';
import type { GeneratorRow, Row } from './summary.ts';

/** One run, whole: what the JSON file holds, and what the table and the plot are drawn from. */
export interface BenchResult {
  startedAt: string;
  environment: Environment;
  settings: Settings;
  newPlantBytes: number;
  fdatasyncP50Ms: Spread | null;
  rows: Row[];
  generator: GeneratorRow[];
  figures: FigureResult[];
  measured: Measured;
}
