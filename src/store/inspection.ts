/** What a store or a backup of one holds, as far as two of them can be compared. */
export interface StoreFigures extends PlantFigures {
  readonly schemaVersion: number;
}

/**
 * Depends on nothing but the plants: two stores that hold the same have the same, whatever their
 * engines.
 */
export interface PlantFigures {
  readonly plants: number;
  /** In full, where a JSON number would be rounded; null if there are no plants. */
  readonly largestId: string | null;
  /**
   * SHA-256 in hex over all plants in ascending order of id, each as the line that `plants list`
   * prints.
   */
  readonly digest: string;
}

/** Why a file is not a sound store, as the rest of a sentence that starts with its name. */
export interface StoreFault {
  readonly fault: string;
}

/** Told what is being done, in a few words, each time that there is something new to say. */
export type OnProgress = (doing: string) => void;
