import { type CreatePlantsOptions, type CreateTotals, createAll } from './create-plants.ts';
import { deliver, headersFor, type Sender } from './deliver.ts';
import { InvalidInputError } from './errors.ts';
import { timerMsMax } from './limited-signal.ts';
import { checkPlant, type NewPlant } from './plant.ts';
import { createRetryBudget } from './retry-budget.ts';

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
  /** In place of the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
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
export interface StoredPlant {
  readonly id: bigint;
  readonly name: string;
  readonly tag?: string | undefined;
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

/** @throws InvalidInputError */
export function createClient(options: ClientOptions): PlantStoreClient {
  const { token, timeout = 60_000, attemptTimeout = 10_000, fetch } = options;
  checkTime('timeout', timeout);
  checkTime('attemptTimeout', attemptTimeout);
  // A token that never fits is found here, and not by the first create.
  if (typeof token !== 'function') headersFor(token);
  const url = plantsUrl(options.url);
  const sender: Sender = { url, token, attemptTimeout, fetch, budget: createRetryBudget() };

  const createPlant: PlantStoreClient['createPlant'] = async (plant, each = {}) => {
    const delivery = { ...each, plant, timeout: each.timeout ?? timeout };
    checkPlant(plant);
    checkTime('timeout', delivery.timeout);
    checkTraceparent(each.traceparent);
    return deliver(delivery, sender);
  };
  return {
    createPlant,
    createPlants: (plants, each) => createAll(createPlant, plants, each),
  };
}

/** @throws InvalidInputError */
function plantsUrl(text: string | URL): URL {
  const url = URL.canParse(`${text}`) ? new URL(`${text}`) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol))
    throw new InvalidInputError(
      `url must be the http or https address of the service; it is ${text}`,
    );
  if (url.username || url.password || url.search || url.hash)
    throw new InvalidInputError('url must have no user, password, query or fragment');
  url.pathname = `${url.pathname.replace(/\/$/, '')}/plants`;
  return url;
}

/** @throws InvalidInputError */
function checkTime(name: string, ms: number): void {
  if (!(ms > 0 && ms <= timerMsMax))
    throw new InvalidInputError(
      `${name} must be more than 0 and at most ${timerMsMax} milliseconds; it is ${ms}`,
    );
}

/** W3C Trace Context §3.2. @throws InvalidInputError */
function checkTraceparent(value: string | undefined): void {
  if (value !== undefined && !/^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}/.test(value))
    throw new InvalidInputError(
      `traceparent must be as W3C Trace Context writes it; it is ${value}`,
    );
}
