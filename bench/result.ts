import type { Environment } from './environment.ts';
import type { FigureResult } from './figures.ts';
import type { PartResults } from './parts.ts';
import type { FormName } from './settings.ts';

/**
 * One run, whole: what the JSON file holds, and what the tables and the pictures are drawn from.
 */
export interface BenchResult {
  startedAt: string;
  form: FormName;
  environment: Environment;
  /** Those that were run; each holds its own settings. */
  parts: Partial<PartResults>;
  figures: FigureResult[];
}
