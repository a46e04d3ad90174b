import type { StoreLocation } from '../../store/location.ts';
import { engineOf } from '../../stores.ts';
import { CommandError } from '../command.ts';
import { addressText, type OperatorAddress } from './address.ts';
import { type Answer, ask, NoAnswerError, readiness } from './ask.ts';
import { linkInto } from './link.ts';

/** The session of a command with a running service. Disposing of it signs out. */
export interface OperatorSession extends AsyncDisposable {
  /**
   * Asks the API for JSON. A session that is over is replaced by another one.
   *
   * @throws NoAnswerError, RefusedError
   */
  get<Reply>(path: string, signal?: AbortSignal): Promise<Reply>;
}

/** The service has answered with an error. */
export class RefusedError extends CommandError {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Signs in by a link in the store, so the service must have the same store.
 *
 * @throws NoAnswerError, RefusedError, StoreOpenError, StoreError
 */
export async function signInAt(
  address: OperatorAddress,
  store: StoreLocation,
): Promise<OperatorSession> {
  await readiness(address);
  let cookie = await cookieFrom(address, store);

  return {
    async get(path, signal) {
      const question = () => ask(address, { path, cookie, signal });
      let answer = await question();
      if (answer.status === 401) {
        cookie = await cookieFrom(address, store);
        answer = await question();
      }
      if (answer.status === 200) return JSON.parse(answer.body);
      throw new RefusedError(answer.status, messageIn(answer));
    },
    async [Symbol.asyncDispose]() {
      try {
        await ask(address, { method: 'DELETE', path: '/api/session', cookie });
      } catch (error) {
        // Without an answer, the session ends by itself.
        if (!(error instanceof NoAnswerError)) throw error;
      }
    },
  };
}

/** Exchanges a new link for the cookie of a session. */
async function cookieFrom(address: OperatorAddress, store: StoreLocation): Promise<string> {
  const { secret } = await linkInto(store);
  const json = { link: secret };
  const answer = await ask(address, { method: 'POST', path: '/api/session', json });
  if (answer.status === 200 && answer.cookie !== undefined) return answer.cookie;
  throw new RefusedError(answer.status, signInMessage(answer, address, store));
}

function signInMessage(answer: Answer, address: OperatorAddress, store: StoreLocation): string {
  const service = `the service at ${addressText(address)}`;
  if (answer.status === 400)
    return `${service} is of an earlier version, which takes no sign-in links; restart the service`;
  if (answer.status === 401 || answer.status === 429)
    return `${service} does not find the sign-in link that was written to ${engineOf(store).name}: the service has another store, or its clock differs by a minute; name its store with --store, or its port with --ops-port`;
  return `${service} refuses the sign-in: ${messageIn(answer)}`;
}

/** A proxy may answer with a page of its own. */
function messageIn({ status, body }: Answer): string {
  try {
    const { message } = JSON.parse(body);
    if (typeof message === 'string') return message;
  } catch {
    // It is no JSON.
  }
  return `the service has answered ${status}`;
}
