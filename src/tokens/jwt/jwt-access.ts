import { timingSafeEqual } from 'node:crypto';
import { problems, Refusal } from '../../contract/problems.ts';
import { limits } from '../../limits.ts';
import { causeOf, StoreError } from '../../store/errors.ts';
import type { TableWriter } from '../../store/tables/tables.ts';
import { type Access, type Caller, denial, IssuerOutage, outage, usualScheme } from '../access.ts';
import { hashToken } from '../opaque-tokens.ts';
import type { NewTally } from '../tally.ts';
import { recordUses } from '../token-use.ts';
import { isJwt, readJwt } from './compact-jwt.ts';
import { type IssuerKeys, type KeysLog, openIssuerKeys } from './issuer-keys.ts';
import { type CheckedClaims, checkClaims, expiryFault, type JwtRules } from './rules.ts';
import { type KnownSubject, rememberVerified } from './verified-tokens.ts';

export interface JwtAccessOptions {
  readonly store: TableWriter;
  readonly rules: JwtRules;
  readonly now: () => number;
  readonly log: KeysLog;
  readonly newTally: NewTally;
}

/** The form of a token tells its side. @param fixedToken is opaque also if it looks like a JWT */
export function withJwts(opaque: Access, jwts: Access, fixedToken = ''): Access {
  const fixed = isJwt(fixedToken) ? hashToken(fixedToken) : undefined;
  const isFixed = (token: string) =>
    fixed !== undefined && timingSafeEqual(fixed, hashToken(token));
  const sideOf = (token: string) => (isJwt(token) && !isFixed(token) ? jwts : opaque);
  return {
    tokenCharsMax: Math.max(opaque.tokenCharsMax, jwts.tokenCharsMax),
    recall: (header) => opaque.recall(header) ?? jwts.recall(header),
    authenticate: (token, header) => sideOf(token).authenticate(token, header),
    authenticateAgain: (token, header) => sideOf(token).authenticateAgain(token, header),
  };
}

/** For one thread. A token is verified once, and remembered until it ends or the keys change. */
export function openJwtAccess(options: JwtAccessOptions) {
  const { store, rules, now, log } = options;
  const issuers = new Map(rules.issuers.map((name) => [name, openIssuerKeys(name, log)]));
  const verified = rememberVerified();
  const uses = recordUses(store, (err) =>
    log.error({ err }, 'the last use of subjects cannot be written down'),
  );

  /** With the keys of the verdict: an issuer may withdraw a key while a token is checked. */
  async function checkSignature(token: string, keys: IssuerKeys) {
    await keys.begun;
    const known = keys.current();
    const checked = known && { keysVersion: known.version, verdict: await known.check(token) };
    if (checked !== undefined && checked.verdict !== 'unknown key') return checked;
    const isRead = await keys.again();
    const read = keys.current();
    return isRead && read
      ? { keysVersion: read.version, verdict: await read.check(token) }
      : undefined;
  }

  async function subjectNamed(name: string): Promise<KnownSubject> {
    const atMs = now();
    const known = verified.subject(name);
    if (known !== undefined && atMs < known.untilMs) return known;
    const id = await store.ensureSubject({ name, hash: hashToken(name), atMs }, limits.jwt);
    const tally = options.newTally(id, name);
    const caller: Caller = { id, name, role: 'create', rate: rules.rate, account: id, tally };
    const subject = { caller, untilMs: atMs + limits.jwt.subjectIdleMs / 2 };
    verified.addSubject(subject);
    return subject;
  }

  async function subjectOf({ issuer, sub }: CheckedClaims): Promise<KnownSubject | Refusal> {
    try {
      return await subjectNamed(`${issuer} ${sub}`);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return outage(`the subject of the token cannot be stored: ${causeOf(error)}`);
    }
  }

  /** @param claims all that is kept of a token meanwhile: many tokens may wait for keys */
  async function judge(token: string, claims: CheckedClaims): Promise<Caller | Refusal> {
    const keys = issuers.get(claims.issuer) as IssuerKeys;
    const checked = await checkSignature(token, keys);
    if (checked === undefined)
      return outage(
        `the keys of ${claims.issuer} cannot be read; the log has the reason`,
        IssuerOutage,
      );
    const { verdict, keysVersion } = checked;
    if (verdict !== 'good') return denial(reasons[verdict]);
    if (claims.missingScope !== undefined) return scopeMissing(claims.missingScope);
    const subject = await subjectOf(claims);
    if (subject instanceof Refusal) return subject;
    // The token may have expired meanwhile.
    const fault = expiryFault(claims.exp, now());
    if (fault !== undefined) return denial(fault);
    const { caller, untilMs } = subject;
    const notedAtMs = now();
    uses.note(caller.id, notedAtMs);
    const expiresAtMs = Math.min(claims.exp * 1_000, untilMs);
    verified.addToken(token, { caller, expiresAtMs, keys, keysVersion, notedAtMs });
    return caller;
  }

  function callerOf(token: string): Caller | undefined {
    const found = verified.token(token);
    if (found === undefined) return undefined;
    const nowMs = now();
    const isOfTheseKeys = found.keys.current()?.version === found.keysVersion;
    if (!isOfTheseKeys || nowMs >= found.expiresAtMs) return undefined;
    if (nowMs - found.notedAtMs > limits.access.useFlushMs) {
      uses.note(found.caller.id, nowMs);
      found.notedAtMs = nowMs;
    }
    return found.caller;
  }

  return {
    tokenCharsMax: limits.jwt.tokenCharsMax,
    authenticate: callerOf,
    async authenticateAgain(token: string): Promise<Caller | Refusal> {
      const jwt = readJwt(token);
      if (typeof jwt === 'string') return denial(jwt);
      const claims = checkClaims(jwt, rules, now());
      return typeof claims === 'string' ? denial(claims) : judge(token, claims);
    },
    /** Of the usual spelling, without reading the header. The hash of a token takes 1 µs. */
    recall: (header: string) =>
      header.startsWith(usualScheme) && header.includes('.')
        ? callerOf(header.slice(usualScheme.length))
        : undefined,
    readKeys() {
      for (const keys of issuers.values()) void keys.again();
    },
    /** The oldest of the last reads of all issuers, in ms since the epoch; 0 for never. */
    keysReadAtMs: () => Math.min(...issuers.values().map((keys) => keys.readAtMs())),
    async [Symbol.asyncDispose]() {
      for (const keys of issuers.values()) keys[Symbol.dispose]();
      await uses[Symbol.asyncDispose]();
    },
  };
}

const reasons = {
  'unknown key': 'its issuer has no such key',
  wrong: 'its signature is wrong',
  unusable: 'its signature cannot be checked',
};

const challenge = problems.scopeInsufficient.headers['WWW-Authenticate'];

function scopeMissing(scope: string): Refusal {
  return new Refusal(
    'scopeInsufficient',
    `The token is refused: it lacks the scope \`${scope}\`. Ask its issuer for a token with this ` +
      'scope.',
    { 'WWW-Authenticate': `${challenge}, scope="${scope}"` },
  );
}
