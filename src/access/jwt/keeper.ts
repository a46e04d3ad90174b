import { isDeepStrictEqual } from 'node:util';
import type { JSONWebKeySet } from 'jose';
import { limits } from '../../limits.ts';
import { openRefresh } from '../refresh.ts';
import { askIssuer } from './issuer.ts';

export interface IssuerKeys {
  readonly issuer: string;
  readonly keys: JSONWebKeySet;
}

/** Keeps the keys of all issuers for all threads of a service. */
export interface KeyKeeper extends Disposable {
  /** Called with the keys that are known, and after every successful read. */
  onKeys(listener: (keys: IssuerKeys) => void): void;
  /**
   * Reads the keys of an issuer again. Such reads have a shortest interval
   * (`limits.jwt.keysAgainMs`), so tokens with made-up keys cause few of them.
   *
   * @returns whether the read succeeded
   */
  again(issuer: string): Promise<boolean>;
  /** When the keys of each issuer were last read, in seconds since the epoch; 0 for never. */
  readAtSeconds(): Readonly<Record<string, number>>;
}

/**
 * Reads the keys at once and in the background. An issuer that is away is asked again.
 *
 * @param log gets the first of several failures in a row, and the first success after them
 */
export function keepKeys(issuers: readonly string[], log: KeeperLog): KeyKeeper {
  const listeners: ((keys: IssuerKeys) => void)[] = [];
  const onKeys = (keys: IssuerKeys) => {
    for (const listener of listeners) listener(keys);
  };
  const kept = issuers.map((issuer) => keepKeysOf(issuer, onKeys, log));
  return {
    onKeys(listener) {
      listeners.push(listener);
      for (const keys of kept.flatMap(({ known }) => known() ?? [])) listener(keys);
    },
    again: async (issuer) =>
      (await kept.find((one) => one.issuer === issuer)?.refresh.again()) === true,
    readAtSeconds: () =>
      Object.fromEntries(kept.map(({ issuer, readAtMs }) => [issuer, readAtMs() / 1_000])),
    [Symbol.dispose]() {
      for (const { refresh } of kept) refresh[Symbol.dispose]();
    },
  };
}

type KeeperLog = Record<'info' | 'error', (fields: object, message: string) => void>;

function keepKeysOf(issuer: string, onKeys: (keys: IssuerKeys) => void, log: KeeperLog) {
  const { keysEveryMs, keysRetryMs, keysAgainMs, keysAgainMsMax, keysQuietMs } = limits.jwt;
  let againMs: number = keysAgainMs;
  let beganMs = Number.NEGATIVE_INFINITY;
  let readAtMs = 0;
  let isFailing = false;
  let known: IssuerKeys | undefined;

  const refresh = openRefresh({
    async read() {
      const isQuiet = performance.now() - beganMs > keysQuietMs;
      beganMs = performance.now();
      againMs = isQuiet ? keysAgainMs : Math.min(keysAgainMsMax, 2 * againMs);
      const { keys } = await askIssuer(issuer);
      if (!isDeepStrictEqual(keys, known?.keys)) againMs = keysAgainMs;
      if (isFailing) log.info({ issuer }, 'the keys of the issuer can be read again');
      isFailing = false;
      readAtMs = Date.now();
      known = { issuer, keys };
      onKeys(known);
    },
    ...{ everyMs: keysEveryMs, retryMs: keysRetryMs, staleMs: limits.jwt.keysKeptMs },
    againMs: () => againMs,
    onError(err) {
      isFailing = true;
      const { message: reason } = err as Error;
      log.error(
        { issuer, reason },
        'the keys of an issuer cannot be read; the keys that are known stay in force',
      );
    },
  });
  void refresh.again();
  return { issuer, refresh, known: () => known, readAtMs: () => readAtMs };
}
