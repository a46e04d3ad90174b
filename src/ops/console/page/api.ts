import type { operatorProblems } from '../../../contract/operator-problems.ts';
import type {
  BackupList,
  BackupToVerify,
  ChangedRate,
  CreatedToken,
  Credentials,
  History,
  NewToken,
  Overview,
  PlantCount,
  PlantId,
  PlantPage,
  RateWish,
  RequestList,
  RequestRecord,
  RotatedToken,
  Rotation,
  RunningJob,
  SampleList,
  Secret,
  Session,
  SignInProvider,
  StoredPlant,
  Token,
  TokenList,
} from '../../contract.ts';

/** The service has answered with an error. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  readonly status: number;
  readonly retryAfterSeconds: number | undefined;

  constructor({ status, headers }: Response, message: string) {
    super(message);
    this.status = status;
    this.retryAfterSeconds = Number(headers.get('Retry-After')) || undefined;
  }
}

/** The service has not answered in time. */
export class AwayError extends Error {
  override readonly name = 'AwayError';
  override readonly message = 'The service does not answer.';
}

const answerMs = 10_000;
const notSignedIn: (typeof operatorProblems)['notSignedIn']['code'] = 40_150;

export type Api = ReturnType<typeof createApi>;

/**
 * The requests of the console. Each rejects with an ApiError or an AwayError.
 *
 * @param onSignedOut called when the service does not know the session any more
 */
export function createApi(onSignedOut: () => void) {
  async function ask<Reply>(request: string, options: Options = {}): Promise<Reply> {
    const { response, json } = await send(request, options);
    if (response.ok) return json as Reply;
    const { error, message } = json as { error?: number; message?: string };
    if (error === notSignedIn) onSignedOut();
    throw new ApiError(response, message ?? `The service has answered ${response.status}.`);
  }

  return {
    provider: (signal: AbortSignal) => ask<SignInProvider>('GET /provider', { signal }),
    signIn: (body: Credentials) => ask<Session>('POST /session', { body }),
    session: (signal: AbortSignal) => ask<Session>('GET /session', { signal }),
    signOut: () => ask<void>('DELETE /session'),
    overview: (signal: AbortSignal) => ask<Overview>('GET /overview', { signal }),
    samples: (afterMs: number, signal: AbortSignal) =>
      ask<SampleList>(`GET /samples?after=${afterMs}`, { signal }),
    history: (afterMs: number, signal: AbortSignal) =>
      ask<History>(`GET /history?after=${afterMs}`, { signal }),
    plants: (query: URLSearchParams, signal: AbortSignal) =>
      ask<PlantPage>(`GET /plants?${query}`, { signal }),
    plantCount: (query: URLSearchParams, signal: AbortSignal) =>
      ask<PlantCount>(`GET /plants/count?${query}`, { signal }),
    plant: (id: PlantId, signal: AbortSignal) =>
      ask<StoredPlant>(`GET /plants/${encodeURIComponent(id)}`, { signal }),
    requests: (query: Readonly<Record<string, string>>, signal: AbortSignal) =>
      ask<RequestList>(`GET /requests?${new URLSearchParams(query)}`, { signal }),
    request: (requestId: string, signal: AbortSignal) =>
      ask<RequestRecord>(`GET /requests/${encodeURIComponent(requestId)}`, { signal }),
    tokens: (signal: AbortSignal) => ask<TokenList>('GET /tokens', { signal }),
    inspectToken: (body: Secret) => ask<Token>('POST /tokens/inspection', { body }),
    rotateToken: (body: Rotation) => ask<RotatedToken>('POST /tokens/rotation', { body }),
    createToken: (body: NewToken) => ask<CreatedToken>('POST /tokens', { body }),
    limitToken: (name: string, body: RateWish) =>
      ask<ChangedRate>(`PATCH /tokens?name=${encodeURIComponent(name)}`, { body }),
    backups: (signal: AbortSignal) => ask<BackupList>('GET /backups', { signal }),
    backUp: () => ask<RunningJob>('POST /backups'),
    verifyBackup: (file: string) =>
      ask<RunningJob>('POST /backups/verify', { body: { file } satisfies BackupToVerify }),
    stopJob: () => ask<void>('DELETE /backups/running'),
    revokeToken: (name: string) => ask<void>(`DELETE /tokens?name=${encodeURIComponent(name)}`),
  };
}

interface Options {
  readonly signal?: AbortSignal;
  readonly body?: object;
}

/** @throws AwayError, or the reason of the signal */
async function send(request: string, { signal, body }: Options) {
  const [method = '', path] = request.split(' ');
  const signals = [AbortSignal.timeout(answerMs), ...(signal ? [signal] : [])];
  const sent = body && {
    body: JSON.stringify(body),
    headers: { 'Content-Type': 'application/json' },
  };
  try {
    const all = { method, ...sent, signal: AbortSignal.any(signals) };
    const response = await fetch(`/api${path}`, all);
    return { response, json: parseJson(await response.text()) };
  } catch {
    signal?.throwIfAborted();
    throw new AwayError();
  }
}

/** A proxy may answer with a page of its own. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
