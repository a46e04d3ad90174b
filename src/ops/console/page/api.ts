/** An id of a plant. It stays text: int64 is not exact in a number of JavaScript. */
export type PlantId = string;
/** A time as ISO 8601. */
export type Time = string;

export interface Session {
  /** Of the token that has signed in. */
  readonly name: string;
}

export interface Check {
  readonly name: string;
  /** An error makes the service unready, a warning does not. */
  readonly level: 'ok' | 'warning' | 'error';
  readonly says: string;
}

export interface StoreState {
  readonly location: string;
  /** The file of the store, or the table of the plants; missing if that cannot be told. */
  readonly plantsBytes?: number;
  /** Missing where the store is in a database. */
  readonly logBytes?: number;
  readonly freeBytes?: number;
  readonly isSpaceLow?: boolean;
  /** What a 200 means, where that depends on the settings of a database. */
  readonly promise: string | null;
  /** Null until they have been counted. */
  readonly plants: number | null;
  readonly countedAt: Time | null;
}

export interface Backup {
  readonly file: string;
  readonly finishedAt: Time;
  readonly plants: number;
  readonly digest: string;
}

export interface Setting {
  readonly name: string;
  readonly value: string;
  readonly default: string | null;
}

export interface Overview {
  readonly version: string;
  readonly startedAt: Time;
  readonly ready: boolean;
  readonly checks: readonly Check[];
  readonly store: StoreState;
  /** The last one that was verified. */
  readonly backup: Backup | null;
  readonly configuration: readonly Setting[];
}

export interface Sample {
  readonly atMs: number;
  /**
   * Creates by what became of them: stored, there already, another plant's id, not taken by the
   * store.
   */
  readonly createdPerSecond: number;
  readonly samePerSecond: number;
  readonly takenPerSecond: number;
  readonly failedPerSecond: number;
  /** Requests that were refused before they came to the store. */
  readonly refusedPerSecond: number;
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly batchPlants: number | null;
  readonly queuePlants: number;
  readonly connections: number;
}

export interface Samples {
  readonly everyMs: number;
  readonly samples: readonly Sample[];
}

export interface Plant {
  readonly id: PlantId;
  readonly name: string;
  readonly tag?: string;
}

export interface StoredPlant extends Plant {
  readonly createdAt: Time;
  readonly createdBy: string;
}

export interface PlantsPage {
  readonly plants: readonly Plant[];
  /** The search goes on after this id; null at its end. */
  readonly next: PlantId | null;
  readonly isEnd: boolean;
}

export interface Token {
  readonly name: string;
  readonly role: string;
  readonly state: 'valid' | 'expired' | 'revoked';
  readonly createdAt: Time;
  readonly expiresAt: Time | null;
  readonly revokedAt: Time | null;
  readonly lastUsedAt: Time | null;
}

export interface TokenList {
  readonly tokens: readonly Token[];
  /** How many of those that are valid no more are not among them, as there are so many. */
  readonly leftOut: number;
}

export interface NewToken {
  readonly name: string;
  readonly role: string;
  /** Null if it does not expire. */
  readonly expiresInDays: number | null;
}

export interface Secret {
  readonly name: string;
  readonly token: string;
}

/** The service has answered with an error, which the message explains. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  /** When to come back, if it says so. */
  readonly retryAfterSeconds: number | undefined;

  constructor({ status, headers }: Response, message: string) {
    super(message);
    this.status = status;
    this.retryAfterSeconds = Number(headers.get('Retry-After')) || undefined;
  }
}

/** Nobody has answered, or not in time. */
export class AwayError extends Error {
  override readonly name = 'AwayError';
  override readonly message = 'The service does not answer.';
}

/** A service that answers at all does so sooner. */
const answerMs = 10_000;
/** The code `notSignedIn` of the catalogue. */
const noSession = 40_150;

export type Api = ReturnType<typeof createApi>;

/**
 * What the console asks of the service. All of it rejects with an ApiError or an AwayError.
 *
 * @param onSignedOut is told when the service no longer knows the session
 */
export function createApi(onSignedOut: () => void) {
  async function ask<Answer>(
    method: string,
    path: string,
    options: { signal?: AbortSignal; body?: object } = {},
  ): Promise<Answer> {
    const { response, answer } = await exchange(method, path, options);
    if (response.ok) return answer as Answer;
    const { error, message } = answer as { error?: number; message?: string };
    if (error === noSession) onSignedOut();
    throw new ApiError(response, message ?? `The service has answered ${response.status}.`);
  }

  return {
    signIn: (token: string) => ask<Session>('POST', '/api/session', { body: { token } }),
    session: (signal: AbortSignal) => ask<Session>('GET', '/api/session', { signal }),
    signOut: () => ask<void>('DELETE', '/api/session'),
    overview: (signal: AbortSignal) => ask<Overview>('GET', '/api/overview', { signal }),
    samples: (afterMs: number, signal: AbortSignal) =>
      ask<Samples>('GET', `/api/samples?after=${afterMs}`, { signal }),
    plants: (query: Readonly<Record<string, string>>, signal: AbortSignal) =>
      ask<PlantsPage>('GET', `/api/plants?${new URLSearchParams(query)}`, { signal }),
    plant: (id: PlantId, signal: AbortSignal) =>
      ask<StoredPlant>('GET', `/api/plants/${encodeURIComponent(id)}`, { signal }),
    tokens: (signal: AbortSignal) => ask<TokenList>('GET', '/api/tokens', { signal }),
    createToken: (body: NewToken) => ask<Secret>('POST', '/api/tokens', { body }),
    revokeToken: (name: string) =>
      ask<void>('DELETE', `/api/tokens?name=${encodeURIComponent(name)}`),
  };
}

/** @throws AwayError, or the reason of the signal */
async function exchange(
  method: string,
  path: string,
  { signal, body }: { signal?: AbortSignal; body?: object },
) {
  const signals = [AbortSignal.timeout(answerMs), ...(signal ? [signal] : [])];
  const sent = body && {
    body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json' },
  };
  try {
    const response = await fetch(path, { method, ...sent, signal: AbortSignal.any(signals) });
    const text = await response.text();
    return { response, answer: parseJson(text) };
  } catch {
    signal?.throwIfAborted();
    throw new AwayError();
  }
}

/** Something between the browser and the service may answer with a page of its own. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
