import type { ErrorCode } from './error-code.ts';

/** What is known of a failure. */
export interface Facts
  extends Partial<
    Pick<PlantStoreError, 'status' | 'code' | 'requestId' | 'isUnknown' | 'attempts'>
  > {
  readonly cause?: unknown;
}

/** Why a plant was not acknowledged. Each error of this package is of this class. */
export class PlantStoreError extends Error {
  /** The HTTP status of the last reply. Undefined if no reply came. */
  readonly status: number | undefined;
  /** The code of the last reply, from the error catalogue. Undefined if the service did not answer. */
  readonly code: ErrorCode | undefined;
  /** `X-Request-Id` of the last reply. The operator finds a defect in the log by this id. */
  readonly requestId: string | undefined;
  /**
   * True: the plant is stored once, or not at all. Another create with the same `id`, `name` and
   * `tag` settles it. False: the plant is not stored.
   */
  readonly isUnknown: boolean;
  /** Requests that were sent. */
  readonly attempts: number;

  constructor(message: string, facts: Facts = {}) {
    super(message, facts);
    this.status = facts.status;
    this.code = facts.code;
    this.requestId = facts.requestId;
    this.isUnknown = facts.isUnknown ?? false;
    this.attempts = facts.attempts ?? 0;
  }
}

/** An option or a plant is wrong. Nothing was sent. */
export class InvalidInputError extends PlantStoreError {
  override readonly name = 'InvalidInputError';
}

/** The service, or a proxy in front, has refused the create. A retry gets the same reply. */
export class RefusedError extends PlantStoreError {
  override readonly name = 'RefusedError';
}

/**
 * The client has given up: the time is over, or the signal of the caller was aborted. `cause` has
 * the last failure, or the reason of the signal.
 */
export class GaveUpError extends PlantStoreError {
  override readonly name = 'GaveUpError';
}
