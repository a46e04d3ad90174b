import type { PlantStoreError } from './errors.ts';

/** A plant to create. */
export interface NewPlant {
  /**
   * An int64, which the caller chooses before the first attempt. A `number` must be a safe integer:
   * beyond 2^53, numbers have lost their last digits before they come here.
   */
  readonly id: bigint | number;
  readonly name: string;
  readonly tag?: string | undefined;
}

export interface ClientOptions {
  /** The address of the service, with its base path: `https://plants.example.org/`. */
  readonly url: string | URL;
  /** A bearer token, or a function that is called for each attempt. A failure of it is retried. */
  readonly token: string | (() => string | Promise<string>);
  /** Milliseconds for a create with all its retries. Default: 60,000. */
  readonly timeout?: number | undefined;
  /**
   * Milliseconds for one attempt. Default: 10,000, which is longer than the service waits for its
   * store.
   */
  readonly attemptTimeout?: number | undefined;
  /** Called before the pause of each retry, for logs. Its errors are ignored. */
  readonly onRetry?: ((failure: RetriedFailure) => unknown) | undefined;
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

/** Why an attempt is retried. */
export interface RetriedFailure {
  readonly id: bigint;
  /** Requests that were sent so far. */
  readonly attempts: number;
  readonly message: string;
  /** Undefined if no reply came. */
  readonly status?: number | undefined;
  /** Milliseconds until the retry. */
  readonly pause: number;
}

export interface CreatePlantOptions {
  /** Ends the create. The plant may be stored then: see `isUnknown` of the error. */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds for the create with all its retries, in place of the client's. */
  readonly timeout?: number | undefined;
  /** The trace that the create belongs to, as W3C Trace Context writes it. */
  readonly traceparent?: string | undefined;
}

/** A plant that is on the disk of the service. */
export interface StoredPlant extends NewPlant {
  readonly id: bigint;
  /** Requests that were sent. */
  readonly attempts: number;
}

export interface PlantStoreClient {
  /**
   * Creates a plant. Retries what a retry may settle: 408, 429, 5xx, connections that are lost, and
   * attempts that take too long. It is safe to call again with the same plant.
   *
   * @returns when the plant is on disk
   * @throws InvalidInputError before anything is sent; RefusedError; GaveUpError
   */
  createPlant(plant: NewPlant, options?: CreatePlantOptions): Promise<StoredPlant>;
  /**
   * Creates many plants, several at a time. Reads no more plants than it can send: an iterable of
   * any length needs the same memory.
   *
   * @returns the number of plants by outcome, when every plant that was begun has its outcome
   * @throws the error of the first plant, in the order of the plants, that ended the run; errors of
   * the iterable and of `onResult`
   */
  createPlants<P extends NewPlant>(
    plants: Iterable<P> | AsyncIterable<P>,
    options?: CreatePlantsOptions<P>,
  ): Promise<CreateTotals>;
}

/** The outcome of one of many plants. `plant` is the object of the iterable. */
export type CreateResult<P extends NewPlant = NewPlant> =
  | { readonly outcome: 'stored'; readonly plant: P; readonly error?: undefined }
  | { readonly outcome: 'refused' | 'unknown'; readonly plant: P; readonly error: PlantStoreError };

/** Plants by outcome. `refused` counts all plants that are not stored. */
export interface CreateTotals {
  readonly stored: number;
  readonly refused: number;
  readonly unknown: number;
}

export interface CreatePlantsOptions<P extends NewPlant = NewPlant> extends CreatePlantOptions {
  /** Number of creates that run at the same time. Default: 16. */
  readonly concurrency?: number;
  /**
   * What a refused plant does. `stop`, the default, begins no more plants. `continue` goes on if the
   * refusal is about the plant itself; any other failure stops the run.
   */
  readonly onRefusal?: 'stop' | 'continue';
  /**
   * Called for each plant that was begun, in the order of the plants. A promise is waited for, also
   * at the end of the run.
   */
  readonly onResult?: (result: CreateResult<P>, totals: CreateTotals) => unknown;
}
