import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import { causeOf } from '../store/errors.ts';
import type { TableReader, TableWriter } from '../store/tables/tables.ts';
import { fixedTokenId, fixedTokenName, type TokenRecord } from '../store/tables/tokens.ts';
import { type Access, type Caller, outage, usualScheme } from './access.ts';
import { findEndedTokens } from './ended-tokens.ts';
import { openRefresh } from './refresh.ts';
import type { NewTally } from './tally.ts';
import { recordUses } from './token-use.ts';

/** A new bearer token: `ps_` and 256 random bits. It is shown once; the store keeps its hash. */
export function generateToken(): string {
  return `ps_${randomBytes(32).toString('base64url')}`;
}

export function isGeneratedToken(text: string): boolean {
  return /^ps_[A-Za-z0-9_-]{43}$/.test(text);
}

/** SHA-256. A slow hash would protect guessable passwords only, not 256 random bits. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

/** `rotated`: a newer secret has taken its place, and it stays in force until its end. */
export function tokenState(
  { revokedAtMs, rotatedAtMs, expiresAtMs }: TokenRecord,
  nowMs: number,
): 'valid' | 'rotated' | 'expired' | 'revoked' {
  if (revokedAtMs !== undefined) return 'revoked';
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) return 'expired';
  return rotatedAtMs === undefined ? 'valid' : 'rotated';
}

export function isInForce(token: TokenRecord, nowMs: number): boolean {
  return ['valid', 'rotated'].includes(tokenState(token, nowMs));
}

/** Whether a client still uses the secret although its name has a newer one. */
export function isUsedSinceRotation({ rotatedAtMs, lastUsedAtMs = 0 }: TokenRecord): boolean {
  return rotatedAtMs !== undefined && lastUsedAtMs > rotatedAtMs;
}

/** Whether the secret ends soon and is needed: the newest of its name, or used since rotation. */
export function expiresSoon(token: TokenRecord, nowMs: number): boolean {
  const { expiresAtMs = Infinity, rotatedAtMs } = token;
  const isNeeded = rotatedAtMs === undefined || isUsedSinceRotation(token);
  const isSoon = expiresAtMs - nowMs <= limits.access.tokenExpiresSoonMs;
  return isNeeded && isSoon && isInForce(token, nowMs);
}

interface LiveToken extends Caller {
  readonly hash: Uint8Array;
  readonly expiresAtMs: number;
}

export interface OpaqueTokensOptions {
  readonly store: TableReader & TableWriter;
  readonly fixedToken: string | undefined;
  readonly threads: number;
  readonly now: () => number;
  readonly onError: (message: string, error: unknown) => void;
  readonly newTally: NewTally;
  readonly endedLookupMs?: number;
}

/**
 * Access by the tokens of a store. The tokens are read every `limits.access.refreshMs`, so that
 * every service refuses a revoked or expired token within `limits.access.staleMs`. If they cannot
 * be read for this time, no token is admitted. An unknown token causes a read, so that a new token
 * is admitted as soon as it is stored; so does a request to a thread that was too busy to read.
 * Disposal stores when tokens were last used.
 *
 * @throws StoreError if the tokens cannot be read at the start
 */
export async function openOpaqueTokens(
  options: OpaqueTokensOptions,
): Promise<Access & AsyncDisposable> {
  const { store, fixedToken, threads, now, onError, newTally, endedLookupMs } = options;
  const fixed = fixedToken === undefined ? [] : [fixedCaller(fixedToken, newTally)];
  const uses = recordUses(store, (error) =>
    onError('the last use of tokens cannot be written down', error),
  );
  const findEnded = findEndedTokens(store, newTally, endedLookupMs ?? limits.access.endedLookupMs);
  let byHash = new Map<string, LiveToken>();
  /**
   * Callers since the last read, by header: saves 0.5 of the 16 µs of CPU time of a create. Only
   * one spelling of each token, so that no client fills the memory.
   */
  const admitted = new Map<string, LiveToken>();

  const { refreshMs, refreshRetryMs, readAgainMs, staleMs } = limits.access;
  const refresh = openRefresh({
    everyMs: refreshMs,
    retryMs: refreshRetryMs,
    staleMs,
    againMs: threads * readAgainMs,
    async read() {
      const records = await store.liveTokens(now());
      const known = new Map([...byHash.values()].map(({ id, tally }) => [id, tally]));
      // The oldest secret of a name in force gives the account.
      const accounts = new Map(records.toReversed().map(({ id, name }) => [name, id]));
      const live = records.map((token) => ({
        ...token,
        expiresAtMs: token.expiresAtMs ?? Infinity,
        account: accounts.get(token.name) ?? token.id,
        tally: known.get(token.id) ?? newTally(token.id, token.name),
      }));
      byHash = new Map([...fixed, ...live].map((token) => [hashKey(token.hash), token]));
      admitted.clear();
    },
    onError: (error) => onError('the tokens cannot be read', error),
  });
  await refresh.readFirst();
  /** A guesser cannot choose the hash, whose first half is the key. The rest takes constant time. */
  function findByHash(token: string): LiveToken | undefined {
    const presented = hashToken(token);
    const found = byHash.get(hashKey(presented));
    return found !== undefined && timingSafeEqual(found.hash, presented) ? found : undefined;
  }

  function unreadTokens(): Refusal {
    const fault = refresh.fault();
    return outage(
      fault === undefined
        ? `the tokens were not read for ${staleMs / 1_000} s`
        : `the tokens cannot be read: ${causeOf(fault)}`,
    );
  }

  function authenticate(token: string, header: string): Caller | Refusal | undefined {
    if (refresh.isStale()) return refresh.isLate() ? undefined : unreadTokens();
    const found = findByHash(token);
    const atMs = now();
    if (found === undefined || atMs >= found.expiresAtMs) return undefined;
    uses.note(found.id, atMs);
    if (header === usualScheme + token) admitted.set(header, found);
    return found;
  }

  return {
    tokenCharsMax: limits.access.tokenCharsMax,
    authenticate,
    async authenticateAgain(token, header) {
      // A store never holds a token of another form.
      const mayBeStored = isGeneratedToken(token);
      if (!mayBeStored && !refresh.isStale()) return tokenInvalid;
      if (!(await refresh.again()) || refresh.isStale()) return unreadTokens();
      const found = authenticate(token, header);
      if (found !== undefined) return found;
      const ended = mayBeStored ? await findEnded(hashToken(token)) : undefined;
      return ended ?? tokenInvalid;
    },
    recall(header) {
      const found = admitted.get(header);
      if (found === undefined || refresh.isStale()) return undefined;
      return now() >= found.expiresAtMs ? undefined : found;
    },
    async [Symbol.asyncDispose]() {
      refresh[Symbol.dispose]();
      await uses[Symbol.asyncDispose]();
    },
  };
}

const tokenInvalid = new Refusal('tokenInvalid');

function fixedCaller(token: string, newTally: NewTally): LiveToken {
  return {
    id: fixedTokenId,
    name: fixedTokenName,
    role: 'create',
    rate: undefined,
    account: fixedTokenId,
    tally: newTally(fixedTokenId, fixedTokenName),
    hash: hashToken(token),
    expiresAtMs: Infinity,
  };
}

function hashKey(tokenHash: Uint8Array): string {
  return Buffer.from(tokenHash.buffer, tokenHash.byteOffset, 16).toString('latin1');
}
