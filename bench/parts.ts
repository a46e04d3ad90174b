/** The parts of the benchmark, in the order in which they run. */
import type { Part } from './part.ts';
import { type GrowthPart, measureGrowth, renderGrowthTables } from './parts/growth.ts';
import { renderGrowthPlot } from './parts/growth-plot.ts';
import { type LatencyPart, measureLatency, renderLatencyTables } from './parts/latency.ts';
import { renderLatencyPlot } from './parts/latency-plot.ts';
import { type LoadPart, measureLoad } from './parts/load.ts';
import { renderLoadPlot } from './parts/load-plot.ts';
import { renderLoadTables } from './parts/load-tables.ts';
import { type MemoryPart, measureMemory, renderMemoryTables } from './parts/memory.ts';
import { measurePostgres, type PostgresPart } from './parts/postgres.ts';
import { renderPostgresTables } from './parts/postgres-tables.ts';
import { measureProfile, type ProfilePart, renderProfileTables } from './parts/profile.ts';
import { measureStart, renderStartTables, type StartPart } from './parts/start.ts';
import { measureTransfer, renderTransferTables, type TransferPart } from './parts/transfer.ts';
import { measureWriter, renderWriterTables, type WriterPart } from './parts/writer.ts';
import type { Settings } from './settings.ts';

/** The result of each part. */
export interface PartResults {
  load: LoadPart;
  latency: LatencyPart;
  growth: GrowthPart;
  writer: WriterPart;
  transfer: TransferPart;
  start: StartPart;
  memory: MemoryPart;
  postgres: PostgresPart;
  profile: ProfilePart;
}

export type PartName = keyof PartResults;

export const parts: { [Name in PartName]: Part<Settings[Name], PartResults[Name]> } = {
  load: { measure: measureLoad, renderTables: renderLoadTables, renderPlot: renderLoadPlot },
  latency: {
    measure: measureLatency,
    renderTables: renderLatencyTables,
    renderPlot: renderLatencyPlot,
  },
  growth: {
    measure: measureGrowth,
    renderTables: renderGrowthTables,
    renderPlot: renderGrowthPlot,
  },
  writer: { measure: measureWriter, renderTables: renderWriterTables },
  transfer: { measure: measureTransfer, renderTables: renderTransferTables },
  start: { measure: measureStart, renderTables: renderStartTables },
  memory: { measure: measureMemory, renderTables: renderMemoryTables },
  postgres: { measure: measurePostgres, renderTables: renderPostgresTables },
  profile: { measure: measureProfile, renderTables: renderProfileTables },
};

export const partNames = Object.keys(parts) as PartName[];
