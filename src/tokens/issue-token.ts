import { excerpt } from '../contract/excerpt.ts';
import { limits } from '../limits.ts';
import { isoTime, numberText, rateText } from '../quantity-text.ts';
import type { TableWriter } from '../store/tables/tables.ts';
import {
  namesOfNoToken,
  type Rate,
  type Role,
  type TokenRecord,
  type TokenRotation,
} from '../store/tables/tokens.ts';
import { generateToken, hashToken, tokenState } from './opaque-tokens.ts';

export interface TokenWish {
  readonly name: string;
  readonly role: Role;
  readonly validMs: number | undefined;
  readonly rate?: Rate | undefined;
  readonly by?: string;
}

export const tokenNameRule =
  `1 to ${limits.access.tokenNameCharsMax} printable ASCII characters without spaces, other than ` +
  `${namesOfNoToken.join(' and ')}: plants that came without a token of the store are listed ` +
  'under these names';

export function isTokenName(name: string): boolean {
  return (
    /^[\x21-\x7e]+$/.test(name) &&
    name.length <= limits.access.tokenNameCharsMax &&
    !namesOfNoToken.includes(name)
  );
}

export function shownToken(token: TokenRecord, nowMs: number) {
  return {
    name: token.name,
    state: tokenState(token, nowMs),
    createdAt: isoTime(token.createdAtMs),
    expiresAt: isoTime(token.expiresAtMs),
    revokedAt: isoTime(token.revokedAtMs),
    lastUsedAt: isoTime(token.lastUsedAtMs),
    createdBy: token.createdBy ?? null,
    ...shownRate(token.rate),
  };
}

export function shownRate(rate: Rate | undefined) {
  return { rate: rate ? rateText(rate) : null, burst: rate?.burst ?? null };
}

/** Creates a token, which every running service admits at once. @throws StoreError */
export async function issueToken(
  store: TableWriter,
  { name, role, validMs, rate, by }: TokenWish,
  nowMs: number,
) {
  const token = generateToken();
  const expiresAtMs = validMs === undefined ? undefined : nowMs + validMs;
  const outcome = await store.createToken(
    { name, hash: hashToken(token), role, createdAtMs: nowMs, expiresAtMs, rate, createdBy: by },
    limits.access.liveTokensMax,
  );
  if (outcome === 'created') return { token, expiresAtMs };
  return refused(outcome, name);
}

export type RotationWish = Omit<TokenRotation, 'hash' | 'atMs'>;

/** A new secret of a token. The secret before stays in force for the grace. @throws StoreError */
export async function rotateToken(store: TableWriter, wish: RotationWish, nowMs: number) {
  const { name } = wish;
  const token = generateToken();
  const outcome = await store.rotateToken(
    { ...wish, hash: hashToken(token), atMs: nowMs },
    limits.access.liveTokensMax,
  );
  if (typeof outcome === 'string') return refused(outcome, name);
  if ('inForceUntilMs' in outcome) return refused('in rotation', name, outcome.inForceUntilMs);
  const { role, expiresAtMs, rate } = outcome.token;
  const { previousUntilMs = 0 } = outcome;
  // The secret before may have expired by itself.
  const until = previousUntilMs > nowMs ? previousUntilMs : undefined;
  return { token, role, expiresAtMs, rate, previousUntilMs: until };
}

function refused(refusal: keyof typeof refusals, name: string, untilMs = 0) {
  return { refusal, message: refusals[refusal](excerpt(name), new Date(untilMs).toISOString()) };
}

const refusals = {
  'not in force': (name: string) => `there is no token named ${name} that could be rotated`,
  'name taken': (name: string) =>
    `there is a token named ${name} already; choose another name, ` +
    'or rotate the token for a new secret',
  'too many': () =>
    `there are ${numberText(limits.access.liveTokensMax)} tokens already; ` +
    'revoke one that is no longer needed, or rotate with a grace of 0',
  'in rotation': (name: string, until: string) =>
    `the token ${name} has two secrets in force: the old secret ends at ` +
    `${until}; rotate again after that time, or with a grace of 0, which ends both secrets at once`,
};

/** Of commands and sign-in links. The space keeps the name apart from those of tokens. */
export const commandLineName = 'command line';

export const firstStartName = 'first start';

export function actorText(name: string): string {
  const { actorCharsMax } = limits.access;
  if (name.length <= actorCharsMax) return name;
  return `${name.slice(0, actorCharsMax - 1).toWellFormed()}…`;
}
