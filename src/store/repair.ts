import type { IdSample, PlantComparison } from './comparison.ts';
import type { StoreFault } from './inspection.ts';

/** What is wrong with a store that no process has open. */
export interface Diagnosis {
  readonly comparison: PlantComparison | StoreFault;
  /** Lines about damaged pages, or a damaged schema. */
  readonly pageFaults: readonly string[];
}

/** The order to complete a copy of a backup with what only the damaged store holds. */
export interface RepairOrder {
  /** A plain file with the whole backup, which becomes the store. */
  readonly copy: string;
  readonly damaged: string;
  readonly diagnosis: Diagnosis;
}

export interface CompletedCopy {
  /** Plants of the backup, and plants that only the damaged store held. */
  readonly plants: number;
  readonly onlyInStore: IdSample;
  /** Ids in the journal of arrivals that no plant has. Undefined if the journal is lost. */
  readonly lost: IdSample | undefined;
  /** Where each table besides the plants comes from. */
  readonly tables: Readonly<Record<string, TableOrigin>>;
}

export type TableOrigin = 'store' | 'backup' | 'empty';
