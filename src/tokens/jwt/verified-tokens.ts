import { hash } from 'node:crypto';
import { limits } from '../../limits.ts';
import type { Caller } from '../access.ts';
import type { IssuerKeys } from './issuer-keys.ts';

export interface KnownSubject {
  readonly caller: Caller;
  /** The store may forget the subject after this time. */
  readonly untilMs: number;
}

interface Verified {
  readonly caller: Caller;
  readonly expiresAtMs: number;
  readonly keys: IssuerKeys;
  /** Of the keys that the verdict is of. The keys themselves may be large. */
  readonly keysVersion: number;
  notedAtMs: number;
}

/**
 * The tokens that one thread has verified, by their hash, and their subjects, by name. A subject has
 * `limits.jwt.rememberedTokensMax` tokens, of which the oldest goes first. Beyond
 * `limits.jwt.rememberedBytes`, the oldest subject goes, with its tokens.
 */
export function rememberVerified() {
  const tokens = new Map<string, Verified>();
  const subjects = new Map<string, KnownSubject & { readonly keys: string[] }>();
  let bytes = 0;

  function forgetToken(key: string): void {
    tokens.delete(key);
    bytes -= limits.jwt.rememberedTokenBytes;
  }

  function forgetSubject(name: string): void {
    subjects.get(name)?.keys.forEach(forgetToken);
    if (subjects.delete(name)) bytes -= bytesOf(name);
  }

  function makeRoom(): void {
    for (const name of subjects.keys()) {
      if (bytes <= limits.jwt.rememberedBytes) return;
      forgetSubject(name);
    }
  }

  return {
    token: (token: string) => tokens.get(keyOf(token)),
    subject: (name: string): KnownSubject | undefined => subjects.get(name),
    /** Takes the place of an earlier subject with the name, and of its tokens. */
    addSubject({ caller, untilMs }: KnownSubject): void {
      forgetSubject(caller.name);
      subjects.set(caller.name, { caller, untilMs, keys: [] });
      bytes += bytesOf(caller.name);
      makeRoom();
    },
    addToken(token: string, verified: Verified): void {
      const keys = subjects.get(verified.caller.name)?.keys;
      // The subject may have been forgotten while the token was judged.
      if (keys === undefined) return;
      const key = keyOf(token);
      if (!tokens.has(key)) {
        keys.push(key);
        bytes += limits.jwt.rememberedTokenBytes;
      }
      tokens.set(key, verified);
      if (keys.length > limits.jwt.rememberedTokensMax) forgetToken(keys.shift() as string);
      makeRoom();
    },
  };
}

/** Small, whatever the token is. A client cannot make two tokens with one hash. */
function keyOf(token: string): string {
  return hash('sha256', token, 'latin1');
}

/** A character of a name takes up to two bytes. */
function bytesOf(name: string): number {
  return limits.jwt.rememberedSubjectBytes + 2 * name.length;
}
