import { excerpt } from '../contract/excerpt.ts';
import { limits } from '../limits.ts';
import { numberText } from '../quantity-text.ts';
import type { TableWriter } from '../store/small-tables.ts';
import { namesOfNoToken, type Rate, type Role } from '../store/tokens.ts';
import { generateToken, hashToken } from './opaque-tokens.ts';

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

export interface RotationWish {
  readonly name: string;
  readonly graceMs: number;
  readonly validMs: number | undefined;
  readonly by?: string;
}

/** A new secret of a token. The secret before stays in force for the grace. @throws StoreError */
export async function rotateToken(
  store: TableWriter,
  { name, graceMs, validMs, by }: RotationWish,
  nowMs: number,
) {
  const token = generateToken();
  const outcome = await store.rotateToken(
    { name, hash: hashToken(token), atMs: nowMs, graceMs, validMs, by },
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

export interface TokenRefusal {
  readonly refusal: keyof typeof refusals;
  readonly message: string;
}

function refused(refusal: TokenRefusal['refusal'], name: string, untilMs = 0): TokenRefusal {
  return { refusal, message: refusals[refusal](excerpt(name), new Date(untilMs).toISOString()) };
}

const refusals = {
  unknown: (name: string) => `there is no token named ${name} that could be rotated`,
  'name taken': (name: string) =>
    `there is a token named ${name} already; choose another name, ` +
    'or rotate the token for a new secret',
  'too many': () =>
    `there are ${numberText(limits.access.liveTokensMax)} tokens already; ` +
    'revoke one that is no longer needed, or rotate with a grace of 0',
  'in rotation': (name: string, until: string) =>
    `the token ${name} has two secrets in force: the secret before the last rotation ends at ` +
    `${until}; rotate again after that time, or with a grace of 0, which ends both secrets at once`,
};
