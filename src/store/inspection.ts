export interface StoreFigures extends PlantFigures {
  readonly schemaVersion: number;
}

/** Two stores with the same plants have equal figures, whatever their engines. */
export interface PlantFigures {
  readonly plants: number;
  /** Text, because a JSON number would be rounded; null if there are no plants. */
  readonly largestId: string | null;
  /** SHA-256 in hex of all plants in ascending order of id, each as a line of an export. */
  readonly digest: string;
}

/** Why a file is no sound store. The text follows the name of the file. */
export interface StoreFault {
  readonly fault: string;
}

/** What the check of a store or a backup has found. */
export type Inspection = StoreFigures | StoreFault;

/** How far a step is. */
export interface Standing {
  readonly done: number;
  readonly total: number;
  readonly unit: 'plants' | 'bytes';
}

/** Gets a short text about the current step, and how far the step is if its end is known. */
export type OnProgress = (doing: string, standing?: Standing) => void;
