import { problems, Refusal } from '../../contract/problems.ts';
import { limits } from '../../limits.ts';
import { causeOf, StoreError } from '../../store/errors.ts';
import type { TableWriter } from '../../store/small-tables.ts';
import { type Caller, denial, outage } from '../access.ts';
import { hashToken } from '../opaque-tokens.ts';
import type { NewTally } from '../tally.ts';
import { recordUses } from '../token-use.ts';
import { type Jwt, readJwt } from './compact-jwt.ts';
import { type IssuerKeys, type KeySet, type KeysLog, openIssuerKeys } from './issuer-keys.ts';
import { faultOf, hasScope, type JwtRules } from './rules.ts';

export interface JwtAccessOptions {
  readonly store: TableWriter;
  readonly rules: JwtRules;
  readonly now: () => number;
  readonly log: KeysLog;
  readonly newTally: NewTally;
}

interface Verified {
  readonly caller: Caller;
  readonly expiresAtMs: number;
  readonly keys: IssuerKeys;
  readonly keySet: KeySet;
  notedAtMs: number;
}

interface Subject {
  readonly caller: Caller;
  /** The store may forget the subject after this time. */
  readonly untilMs: number;
}

/** For one thread. A token is verified once, and remembered until it ends or the keys change. */
export function openJwtAccess(options: JwtAccessOptions) {
  const { store, rules, now, log } = options;
  const issuers = new Map(rules.issuers.map((name) => [name, openIssuerKeys(name, log)]));
  const verified = new Map<string, Verified>();
  const subjects = new Map<string, Subject>();
  const uses = recordUses(store, (err) =>
    log.error({ err }, 'the last use of subjects cannot be written down'),
  );

  /** With the keys of the verdict: an issuer may withdraw a key while a token is checked. */
  async function checkSignature(token: string, keys: IssuerKeys) {
    await keys.begun;
    const known = keys.current();
    const checked = known && { keySet: known, verdict: await known.check(token) };
    if (checked !== undefined && checked.verdict !== 'unknown key') return checked;
    const isRead = await keys.again();
    const read = keys.current();
    return isRead && read ? { keySet: read, verdict: await read.check(token) } : undefined;
  }

  async function subjectNamed(name: string): Promise<Subject> {
    const atMs = now();
    const known = subjects.get(name);
    if (known !== undefined && atMs < known.untilMs) return known;
    const id = await store.ensureSubject({ name, hash: hashToken(name), atMs }, limits.jwt);
    if (subjects.size >= limits.jwt.rememberedMax) subjects.clear();
    const tally = options.newTally(id, name);
    const caller: Caller = { id, name, role: 'create', rate: rules.rate, bucket: id, tally };
    const subject = { caller, untilMs: atMs + limits.jwt.subjectIdleMs / 2 };
    subjects.set(name, subject);
    return subject;
  }

  async function subjectOf({ claims: { iss, sub } }: Jwt): Promise<Subject | Refusal> {
    try {
      return await subjectNamed(`${iss} ${sub}`);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      return outage(`the subject of the token cannot be stored: ${causeOf(error)}`);
    }
  }

  function remember(header: string, entry: Verified): void {
    const [oldest] = verified.keys();
    if (oldest !== undefined && verified.size >= limits.jwt.rememberedMax) verified.delete(oldest);
    // A copy: the header is a part of the head, and would keep the whole head in memory.
    verified.set(Buffer.from(header, 'latin1').toString('latin1'), entry);
  }

  async function judge(token: string, header: string): Promise<Caller | Refusal> {
    const jwt = readJwt(token);
    if (typeof jwt === 'string') return denial(jwt);
    const fault = () => faultOf(jwt, rules, now());
    const before = fault();
    if (before !== undefined) return denial(before);
    const name = String(jwt.claims['iss']);
    const keys = issuers.get(name) as IssuerKeys;
    const checked = await checkSignature(token, keys);
    if (checked === undefined)
      return outage(`the keys of ${name} cannot be read; the log has the reason`);
    const { verdict, keySet } = checked;
    if (verdict !== 'good') return denial(reasons[verdict]);
    if (rules.scope !== undefined && !hasScope(jwt, rules.scope)) return scopeMissing(rules.scope);
    const subject = await subjectOf(jwt);
    if (subject instanceof Refusal) return subject;
    // The token may have expired meanwhile.
    const after = fault();
    if (after !== undefined) return denial(after);
    const { caller, untilMs } = subject;
    uses.note(caller.id, now());
    const expiresAtMs = Math.min(Number(jwt.claims['exp']) * 1_000, untilMs);
    remember(header, { caller, expiresAtMs, keys, keySet, notedAtMs: now() });
    return caller;
  }

  return {
    tokenCharsMax: limits.jwt.tokenCharsMax,
    authenticate: () => 'unknown' as const,
    authenticateAgain: judge,
    recall(header: string) {
      const found = verified.get(header);
      if (found === undefined) return undefined;
      const nowMs = now();
      if (nowMs >= found.expiresAtMs || found.keys.current() !== found.keySet) {
        verified.delete(header);
        return undefined;
      }
      if (nowMs - found.notedAtMs > limits.access.useFlushMs) {
        uses.note(found.caller.id, nowMs);
        found.notedAtMs = nowMs;
      }
      return found.caller;
    },
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
