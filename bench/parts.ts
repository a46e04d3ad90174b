/** The parts of the benchmark, in the order in which they run. */
import type { Part } from './part.ts';
import { measureBackup, renderBackupTables } from './parts/backup.ts';
import { measureGrowth, renderGrowthTables } from './parts/growth.ts';
import { renderGrowthPlot } from './parts/growth-plot.ts';
import { measureLatency, renderLatencyTables } from './parts/latency.ts';
import { renderLatencyPlot } from './parts/latency-plot.ts';
import { measureLoad } from './parts/load.ts';
import { renderLoadPlot } from './parts/load-plot.ts';
import { renderLoadTables } from './parts/load-tables.ts';
import { measureMemory, renderMemoryTables } from './parts/memory.ts';
import { measurePostgres } from './parts/postgres.ts';
import { renderPostgresTables } from './parts/postgres-tables.ts';
import { measureStart, renderStartTables } from './parts/start.ts';
import { measureTransfer, renderTransferTables } from './parts/transfer.ts';

const all = {
  load: { measure: measureLoad, renderTables: renderLoadTables, renderPlot: renderLoadPlot },
  latency: {
    measure: measureLatency,
    renderTables: renderLatencyTables,
    renderPlot: renderLatencyPlot,
  },
  backup: { measure: measureBackup, renderTables: renderBackupTables },
  growth: {
    measure: measureGrowth,
    renderTables: renderGrowthTables,
    renderPlot: renderGrowthPlot,
  },
  transfer: { measure: measureTransfer, renderTables: renderTransferTables },
  start: { measure: measureStart, renderTables: renderStartTables },
  memory: { measure: measureMemory, renderTables: renderMemoryTables },
  postgres: { measure: measurePostgres, renderTables: renderPostgresTables },
};

type All = typeof all;
export type PartName = keyof All;
export type Settings = { [Name in PartName]: Parameters<All[Name]['measure']>[0] };
export type PartResults = { [Name in PartName]: Awaited<ReturnType<All[Name]['measure']>> };

export const parts: { [Name in PartName]: Part<Settings[Name], PartResults[Name]> } = all;
export const partNames = Object.keys(parts) as PartName[];
