import { createAll } from './create-plants.ts';
import { deliver, headersFor, type Sender } from './deliver.ts';
import { InvalidInputError } from './errors.ts';
import { exactPlant } from './plant.ts';
import { createRetryBudget } from './retry-budget.ts';
import { timerMsMax } from './signals.ts';
import type { ClientOptions, CreatePlantOptions, PlantStoreClient } from './types.ts';

/** W3C Trace Context §3.2. */
const traceparentForm = /^[\da-f]{2}-[\da-f]{32}-[\da-f]{16}-[\da-f]{2}(-[!-~]*)?$/;

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
    checkOptions(each);
    return deliver({ ...each, plant: exactPlant(plant), timeout: each.timeout ?? timeout }, sender);
  };
  return {
    createPlant,
    async createPlants(plants, each = {}) {
      checkOptions(each);
      return createAll(createPlant, plants, each);
    },
  };
}

/** @throws InvalidInputError */
function checkOptions({ timeout, traceparent }: CreatePlantOptions): void {
  checkTime('timeout', timeout);
  if (traceparent !== undefined && !traceparentForm.test(traceparent))
    throw new InvalidInputError('traceparent must be as W3C Trace Context writes it');
}

/** @throws InvalidInputError */
function plantsUrl(text: string | URL): URL {
  const url = URL.canParse(`${text}`) ? new URL(`${text}`) : undefined;
  if (!url || !/^https?:\/\/[^?#@]*$/.test(url.href))
    throw new InvalidInputError(
      'url must be an http or https address without user, query and fragment, such as https://plants.example.org',
    );
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/plants`;
  return url;
}

/** @throws InvalidInputError */
function checkTime(name: string, ms = timerMsMax): void {
  if (typeof ms !== 'number' || !(ms > 0 && ms <= timerMsMax))
    throw new InvalidInputError(`${name} must be from 1 to ${timerMsMax} milliseconds`);
}
