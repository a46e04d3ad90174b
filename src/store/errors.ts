/**
 * Why a call failed. `unavailable`: the store cannot do this now; a retry may succeed. Nothing was
 * changed, unless the connection to the database was lost meanwhile. `refused`: the database does
 * not take this one plant, for its content. `fatal`: what the store holds
 * is uncertain until the store is opened again; every later call is refused. `defect`: a mistake in
 * this program.
 */
export type StoreFailure = 'unavailable' | 'refused' | 'fatal' | 'defect';

export class StoreError extends Error {
  readonly failure: StoreFailure;

  constructor(failure: StoreFailure, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'StoreError';
    this.failure = failure;
  }
}

/** Why a call has failed, for operators. The text of a defect may quote what a client has sent. */
export function causeOf(error: unknown): string {
  if (error instanceof StoreError && error.failure !== 'defect') return error.message;
  return 'a defect of the service; the log has the defect';
}

/** The store cannot be opened. The message tells the operator what to do. */
export class StoreOpenError extends Error {
  override readonly name = 'StoreOpenError';
}
