import { createAll } from './create-plants.ts';
import { deliver, headersFor, type Sender } from './deliver.ts';
import { InvalidInputError } from './errors.ts';
import { timerMsMax } from './limited-signal.ts';
import { checkPlant } from './plant.ts';
import { createRetryBudget } from './retry-budget.ts';
import type { ClientOptions, PlantStoreClient } from './types.ts';

/** @throws InvalidInputError */
export function createClient(options: ClientOptions): PlantStoreClient {
  const { token, timeout = 60_000, attemptTimeout = 10_000, onRetry, fetch } = options;
  checkTime('timeout', timeout);
  checkTime('attemptTimeout', attemptTimeout);
  // A token that never fits is found here, and not by the first create.
  if (typeof token !== 'function') headersFor(token);
  const url = plantsUrl(options.url);
  const budget = createRetryBudget();
  const sender: Sender = { url, token, attemptTimeout, onRetry, fetch, budget };

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
