import { limits } from '../../limits.ts';
import { causeOf, StoreError } from '../../store/errors.ts';
import type { TokenWriter } from '../../store/tokens.ts';
import { type Caller, Denial, type OpenAccess, Outage } from '../access.ts';
import { hashToken } from '../opaque-tokens.ts';
import type { NewTally } from '../tally.ts';
import { recordUses } from '../token-use.ts';
import type { IssuerKeys } from './keeper.ts';
import {
  checkJwt,
  expiryOf,
  hasScope,
  type Jwt,
  JwtFault,
  type JwtRules,
  readJwt,
  subjectName,
} from './rules.ts';
import { type SignatureCheck, signatureCheck } from './signature.ts';

export interface JwtAccessOptions {
  readonly store: TokenWriter;
  readonly rules: JwtRules;
  /** Reads the keys of an issuer again; see `KeyKeeper`. */
  readonly again: (issuer: string) => Promise<boolean>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  readonly onError: (message: string, error: unknown) => void;
  readonly newTally: NewTally;
}

export interface JwtAccess extends OpenAccess {
  takeKeys(keys: IssuerKeys): void;
}

/** A token whose signature was good under the keys that are in force. */
interface Verified {
  readonly caller: Caller;
  readonly expiresAtMs: number;
  readonly issuer: Issuer;
  readonly chars: number;
  notedAtMs: number;
}

interface Issuer {
  readonly name: string;
  readonly check: SignatureCheck;
  readonly keys: string;
  /** `performance.now()` of the last read. */
  readAtMs: number;
}

/**
 * Access by tokens of identity providers, for one thread. A token is verified once, and then
 * remembered by its header until it expires, or the keys of its issuer change.
 */
export function openJwtAccess(options: JwtAccessOptions): JwtAccess {
  const { store, rules, now, onError } = options;
  const issuers = new Map<string, Issuer>();
  /** In order of verification. */
  const verified = new Map<string, Verified>();
  let verifiedChars = 0;
  const subjects = new Map<string, Caller>();
  const uses = recordUses(store, (error) =>
    onError('the last use of subjects cannot be written down', error),
  );

  /** Keys that were read too long ago do not count. */
  function issuerOf(name: string): Issuer | undefined {
    const issuer = issuers.get(name);
    return issuer !== undefined && !isTooOld(issuer) ? issuer : undefined;
  }

  async function checkSignature(token: string, name: string) {
    const found = await issuerOf(name)?.check(token);
    if (found !== undefined && found !== 'unknown key') return found;
    const isRead = await options.again(name);
    const checked = isRead ? await issuerOf(name)?.check(token) : undefined;
    return checked ?? new Outage(`the keys of ${name} cannot be read; the log has the reason`);
  }

  async function subjectNamed(name: string): Promise<Caller> {
    const known = subjects.get(name);
    if (known !== undefined) return known;
    const id = await store.ensureSubject(
      { name, hash: hashToken(name), createdAtMs: now() },
      limits.jwt.subjectsMax,
    );
    if (id === undefined)
      throw new StoreError(
        'unavailable',
        `the store has ${limits.jwt.subjectsMax} subjects already`,
      );
    if (subjects.size >= limits.jwt.rememberedMax) subjects.clear();
    const tally = options.newTally(id, name);
    const caller: Caller = { id, name, role: 'create', rate: rules.rate, bucket: id, tally };
    subjects.set(name, caller);
    return caller;
  }

  async function callerOf(jwt: Jwt): Promise<Caller | Outage> {
    const name = subjectName(jwt);
    try {
      return await subjectNamed(name);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      onError('the subject of a token cannot be stored', error);
      return new Outage(`the subject of the token cannot be stored: ${causeOf(error)}`);
    }
  }

  function remember(header: string, entry: Verified): void {
    forget(header);
    // A copy: the header is a part of the head, and would keep the whole head in memory.
    verified.set(Buffer.from(header, 'latin1').toString('latin1'), entry);
    verifiedChars += entry.chars;
    for (const [oldest] of verified) {
      if (
        verified.size <= limits.jwt.rememberedMax &&
        verifiedChars <= limits.jwt.rememberedCharsMax
      )
        return;
      forget(oldest);
    }
  }

  function forget(header: string): void {
    verifiedChars -= verified.get(header)?.chars ?? 0;
    verified.delete(header);
  }

  async function judge(token: string, header: string): Promise<Caller | Denial | Outage> {
    const jwt = readJwt(token);
    if (jwt instanceof JwtFault) return new Denial(jwt.reason);
    const fault = checkJwt(jwt, rules, now()).find((check) => check.fault !== undefined)?.fault;
    if (fault !== undefined) return new Denial(fault);
    const name = String(jwt.claims['iss']);
    const signature = await checkSignature(token, name);
    if (signature instanceof Outage) return signature;
    if (signature instanceof JwtFault) return new Denial(signature.reason);
    if (signature === 'unknown key') return new Denial('its issuer has no such key');
    if (rules.scope !== undefined && !hasScope(jwt, rules.scope))
      return new Denial('it lacks the scope', { missingScope: rules.scope });
    const issuer = issuerOf(name);
    const caller = await callerOf(jwt);
    if (caller instanceof Outage) return caller;
    uses.note(caller.id, now());
    // The keys may have changed meanwhile: then the next request verifies the token again.
    if (issuer !== undefined && issuer === issuers.get(name)) {
      const entry = { caller, expiresAtMs: expiryOf(jwt), issuer, chars: header.length };
      remember(header, { ...entry, notedAtMs: now() });
    }
    return caller;
  }

  return {
    tokenCharsMax: limits.jwt.tokenCharsMax,
    authenticate: () => 'unknown',
    authenticateAgain: judge,
    recall(header) {
      const found = verified.get(header);
      if (found === undefined) return undefined;
      const nowMs = now();
      if (nowMs >= found.expiresAtMs || isTooOld(found.issuer)) {
        forget(header);
        return undefined;
      }
      if (nowMs - found.notedAtMs > limits.access.useFlushMs) {
        uses.note(found.caller.id, nowMs);
        found.notedAtMs = nowMs;
      }
      return found.caller;
    },
    takeKeys({ issuer: name, keys }) {
      const text = JSON.stringify(keys);
      const known = issuers.get(name);
      if (known?.keys === text) {
        known.readAtMs = performance.now();
        return;
      }
      const check = signatureCheck(keys);
      issuers.set(name, { name, check, keys: text, readAtMs: performance.now() });
      for (const [header, { issuer }] of verified) if (issuer === known) forget(header);
    },
    [Symbol.asyncDispose]: () => uses[Symbol.asyncDispose](),
  };
}

function isTooOld({ readAtMs }: Issuer): boolean {
  return performance.now() - readAtMs > limits.jwt.keysKeptMs;
}
