import { excerpt } from '../contract/excerpt.ts';
import { limits } from '../limits.ts';
import { namesOfNoToken, type Rate, type Role, type TokenWriter } from '../store/tokens.ts';
import { generateToken, hashToken } from './opaque-tokens.ts';

export interface TokenWish {
  readonly name: string;
  readonly role: Role;
  /** Undefined: valid until it is revoked. */
  readonly validMs: number | undefined;
  readonly rate?: Rate | undefined;
  /** Who makes the token. */
  readonly by?: string;
}

export interface IssuedToken {
  /** The secret. It is not stored. */
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number | undefined;
}

/** The rule of `isTokenName`. */
export const tokenNameRule =
  `1 to ${limits.access.tokenNameCharsMax} printable ASCII characters without spaces, other than ` +
  `${namesOfNoToken.join(' and ')}: plants that came without a token of the store are listed under these names`;

export function isTokenName(name: string): boolean {
  return (
    /^[\x21-\x7e]+$/.test(name) &&
    name.length <= limits.access.tokenNameCharsMax &&
    !namesOfNoToken.includes(name)
  );
}

/**
 * Creates a token. Every running service admits it at once.
 *
 * @returns the token, or why there is none, in words for the operator
 * @throws StoreError
 */
export async function issueToken(
  store: TokenWriter,
  { name, role, validMs, rate, by }: TokenWish,
  nowMs: number,
): Promise<IssuedToken | TokenRefusal> {
  const token = generateToken();
  const expiresAtMs = validMs === undefined ? undefined : nowMs + validMs;
  const outcome = await store.createToken(
    { name, hash: hashToken(token), role, createdAtMs: nowMs, expiresAtMs, rate, createdBy: by },
    limits.access.liveTokensMax,
  );
  if (outcome === 'created') return { token, expiresAtMs };
  return { refusal: outcome, message: refusals[outcome](name) };
}

export interface TokenRefusal {
  readonly refusal: keyof typeof refusals;
  readonly message: string;
}

const refusals = {
  'name taken': (name: string) =>
    `there is a token named ${excerpt(name)} already; choose another name, or rotate the token for a new secret`,
  'too many': () =>
    `there are ${limits.access.liveTokensMax} tokens already; revoke one that is no longer needed`,
};
