/** The parts of the benchmark, in the order in which they run. */
import type { Part } from './part.ts';
import { type LatencyPart, measureLatency, renderLatencyTables } from './parts/latency.ts';
import { renderLatencyPlot } from './parts/latency-plot.ts';
import { type LoadPart, measureLoad } from './parts/load.ts';
import { renderLoadPlot } from './parts/load-plot.ts';
import { renderLoadTables } from './parts/load-tables.ts';
import type { Settings } from './settings.ts';

/** The result of each part. */
export interface PartResults {
  load: LoadPart;
  latency: LatencyPart;
}

export type PartName = keyof PartResults;

export const parts: { [Name in PartName]: Part<Settings[Name], PartResults[Name]> } = {
  load: { measure: measureLoad, renderTables: renderLoadTables, renderPlot: renderLoadPlot },
  latency: { measure: measureLatency, renderTables: renderLatencyTables, renderPlot: renderLatencyPlot },
};

export const partNames = Object.keys(parts) as PartName[];
