import { hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { limits } from '../limits.ts';
import {
  fixedTokenName,
  type TokenReader,
  type TokenRecord,
  type TokenUse,
  type TokenWriter,
} from '../store/tokens.ts';
import type { Access, Caller } from './access.ts';

/** A new bearer token: `ps_` and 256 random bits. It is shown once; the store keeps its hash. */
export function generateToken(): string {
  return `ps_${randomBytes(32).toString('base64url')}`;
}

export function isGeneratedToken(text: string): boolean {
  return /^ps_[A-Za-z0-9_-]{43}$/.test(text);
}

/** SHA-256. A slow hash would protect guessable passwords, and these are 256 random bits. */
export function hashToken(token: string): Buffer {
  return hash('sha256', token, 'buffer');
}

export function tokenState(
  { revokedAtMs, expiresAtMs }: TokenRecord,
  nowMs: number,
): 'valid' | 'revoked' | 'expired' {
  if (revokedAtMs !== undefined) return 'revoked';
  return expiresAtMs !== undefined && expiresAtMs <= nowMs ? 'expired' : 'valid';
}

interface LiveToken extends Caller {
  readonly hash: Uint8Array;
  readonly expiresAtMs: number;
}

export interface OpaqueTokensOptions {
  readonly store: TokenReader & TokenWriter;
  /** Also admitted, as long as the process runs; it is not in the store. */
  readonly fixedToken: string | undefined;
  /**
   * Of how many threads with tokens of their own this is one: together they keep
   * `limits.access.readAgainMs`.
   */
  readonly threads: number;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onError: (message: string, error: unknown) => void;
}

/**
 * Opaque tokens out of the store. They are read again every `limits.access.refreshMs`, or as soon
 * as the last reading has ended, so that a revoked or expired token is refused by every running
 * service within `limits.access.staleMs`; if they cannot be read that long, no token is admitted. A
 * token that is not known has them read again, so that a new token is admitted as soon as the store
 * has it.
 *
 * @throws StoreError if the tokens cannot be read at the start
 */
export async function openOpaqueTokens(options: OpaqueTokensOptions): Promise<Access> {
  const { store, now, onError } = options;
  const fixed = options.fixedToken === undefined ? [] : [fixedCaller(options.fixedToken)];
  const lastUsed = new Map<number, number>();
  let byHash = new Map<string, LiveToken>();
  /**
   * By header, those admitted since the tokens were last read. It saves 0.5 of the 16 µs of CPU
   * time that a create takes.
   */
  const admitted = new Map<string, LiveToken>();
  let readAt = 0;
  let isOpen = true;
  let canRead = true;
  /** The reading that is under way, and when the last one began. */
  let reading: Promise<void> | undefined;
  let readingBeganMs = 0;
  let nextReading: NodeJS.Timeout | undefined;
  /** The reading that has not begun yet and is waited for by requests. */
  let readingAgain: Promise<void> | undefined;

  /**
   * A thread that has much to do comes late to its timers. So a request that needs the tokens has
   * them read again, too.
   */
  function isStale(): boolean {
    const ageMs = performance.now() - readAt;
    if (ageMs > limits.access.refreshMs && canRead) void keepFresh();
    return ageMs > limits.access.staleMs;
  }

  async function refresh(): Promise<void> {
    const beganMs = performance.now();
    readingBeganMs = beganMs;
    const live = await store.liveTokens(now());
    byHash = new Map(
      [...fixed, ...live.map(liveToken)].map((token) => [hashKey(token.hash), token]),
    );
    admitted.clear();
    readAt = beganMs;
  }

  /** One reading after the other, so that none brings back what a later one has found revoked. */
  function keepFresh(): Promise<void> {
    if (isOpen) reading ??= read();
    return reading ?? Promise.resolve();
  }

  /** Of failures in a row, the first is told. */
  async function read(): Promise<void> {
    clearTimeout(nextReading);
    canRead = await refresh().then(
      () => true,
      (error) => {
        if (canRead) onError('the tokens cannot be read', error);
        return false;
      },
    );
    reading = undefined;
    const everyMs = canRead ? limits.access.refreshMs : limits.access.refreshRetryMs;
    if (isOpen) nextReading = setTimeout(keepFresh, readingBeganMs + everyMs - performance.now());
  }

  /** Resolves when a reading has ended that began after the call. */
  function readAgain(): Promise<void> {
    readingAgain ??= readingMayBegin().then(() => {
      readingAgain = undefined;
      return keepFresh();
    });
    return readingAgain;
  }

  async function readingMayBegin(): Promise<void> {
    const everyMs = options.threads * limits.access.readAgainMs;
    for (;;) {
      const waitMs = readingBeganMs + everyMs - performance.now();
      if (reading === undefined && waitMs <= 0) return;
      await (reading ?? delay(waitMs));
    }
  }

  /**
   * The map is looked up by a part of the hash, which a guesser cannot steer; the whole is compared
   * in constant time.
   */
  function findByHash(token: string): LiveToken | undefined {
    const presented = hashToken(token);
    const found = byHash.get(hashKey(presented));
    return found !== undefined && timingSafeEqual(found.hash, presented) ? found : undefined;
  }

  async function writeDownUse(): Promise<void> {
    const uses: TokenUse[] = [...lastUsed]
      .filter(([id]) => id !== fixedTokenId)
      .map(([id, atMs]) => ({ id, atMs }));
    lastUsed.clear();
    if (uses.length === 0) return;
    await store
      .recordTokenUse(uses)
      .catch((error) => onError('the last use of tokens cannot be written down', error));
  }

  await refresh();
  nextReading = setTimeout(keepFresh, limits.access.refreshMs);
  const writingDown = setInterval(writeDownUse, limits.access.useFlushMs);

  function authenticate(token: string, header: string): Caller | 'unknown' | 'unavailable' {
    if (isStale()) return 'unavailable';
    const found = findByHash(token);
    const atMs = now();
    if (found === undefined || atMs >= found.expiresAtMs) return 'unknown';
    lastUsed.set(found.id, atMs);
    if (admitted.size < limits.access.liveTokensMax) admitted.set(header, found);
    return found;
  }

  return {
    authenticate,
    async authenticateAgain(token, header) {
      // A token of another form never comes into a store.
      if (!isGeneratedToken(token)) return 'unknown';
      await readAgain();
      return canRead ? authenticate(token, header) : 'unavailable';
    },
    recall(header) {
      const found = admitted.get(header);
      return found === undefined || isStale() || now() >= found.expiresAtMs ? undefined : found;
    },
    async [Symbol.asyncDispose]() {
      isOpen = false;
      clearTimeout(nextReading);
      clearInterval(writingDown);
      await writeDownUse();
    },
  };
}

/** `created_by` of plants that came with the fixed token of the environment. */
const fixedTokenId = 0;

function fixedCaller(token: string): LiveToken {
  return {
    id: fixedTokenId,
    name: fixedTokenName,
    role: 'create',
    hash: hashToken(token),
    expiresAtMs: Infinity,
  };
}

function liveToken({
  id,
  name,
  role,
  hash: recordHash,
  expiresAtMs = Infinity,
}: TokenRecord): LiveToken {
  return { id, name, role, hash: recordHash, expiresAtMs };
}

function hashKey(tokenHash: Uint8Array): string {
  return Buffer.from(tokenHash.buffer, tokenHash.byteOffset, 16).toString('latin1');
}
