export interface StoreFigures extends PlantFigures {
  readonly schemaVersion: number;
}

/** Two stores with the same plants have equal figures, whatever their engines. */
export interface PlantFigures {
  readonly plants: number;
  /** Text, because a JSON number would be rounded; null if there are no plants. */
  readonly largestId: string | null;
  /** SHA-256 in hex of all plants in ascending order of id, each as a line of `plants list`. */
  readonly digest: string;
}

/** Why a file is no sound store. The text follows the name of the file. */
export interface StoreFault {
  readonly fault: string;
}

/** Gets a short text about the current step. */
export type OnProgress = (doing: string) => void;
