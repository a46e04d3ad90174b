import type { Handler } from 'hono';
import {
  issueToken,
  isTokenName,
  type TokenWish,
  tokenNameRule,
} from '../../access/issue-token.ts';
import { tokenState } from '../../access/opaque-tokens.ts';
import { rateText } from '../../access/rate-limit.ts';
import { limits } from '../../limits.ts';
import {
  type Role,
  roles,
  type TokenReader,
  type TokenRecord,
  type TokenWriter,
} from '../../store/tokens.ts';
import type { CreatedToken, NewToken, Token, TokenList } from '../contract.ts';
import { isoTime, jsonObject, refuse } from './json.ts';
import type { OperatorEnv, OperatorLog } from './session.ts';

const dayMs = 86_400_000;

/** All valid tokens, and the last `limits.ops.pastTokensShown` others. No subjects. */
export function listTokens(store: TokenReader, now: () => number): Handler {
  return async (context) => {
    const nowMs = now();
    const all = (await store.listTokens()).flatMap((token) =>
      token.role === 'subject' ? [] : [tokenReply({ ...token, role: token.role }, nowMs)],
    );
    const past = all.filter(({ state }) => state !== 'valid');
    const leftOut = new Set(past.slice(0, -limits.ops.pastTokensShown));
    const tokens = all.filter((token) => !leftOut.has(token));
    return context.json({ tokens, leftOut: leftOut.size } satisfies TokenList);
  };
}

export function createToken(
  store: TokenWriter,
  log: OperatorLog,
  now: () => number,
): Handler<OperatorEnv> {
  return async (context) => {
    const body = await jsonObject<NewToken>(context);
    if (body instanceof Response) return body;
    const wish = parseWish(body);
    if (typeof wish === 'string') return refuse(context, 'bodyWrong', wish);
    const { name, role } = wish;
    const issued = await issueToken(store, wish, now());
    if ('refusal' in issued) return refuse(context, problemOf[issued.refusal], issued.message);
    const operator = context.get('operator');
    log.info({ operator, token: name, role }, 'a token was made in the console');
    return context.json({ name, token: issued.token } satisfies CreatedToken, 201);
  };
}

const problemOf = { 'name taken': 'tokenNameTaken', 'too many': 'tokensTooMany' } as const;

/** The name is in the query: clients would take a path that ends with `..` for its parent. */
export function revokeToken(
  store: TokenWriter,
  log: OperatorLog,
  now: () => number,
): Handler<OperatorEnv> {
  return async (context) => {
    const token = context.req.query('name') ?? '';
    if (!(await store.revokeToken(token, now()))) {
      const message = 'There is no token with this name that is not revoked.';
      return refuse(context, 'recordUnknown', message);
    }
    const operator = context.get('operator');
    log.info({ operator, token }, 'a token was revoked in the console');
    return context.body(null, 204);
  };
}

function tokenReply(token: TokenRecord & { readonly role: Role }, nowMs: number): Token {
  return {
    name: token.name,
    role: token.role,
    state: tokenState(token, nowMs),
    createdAt: isoTime(token.createdAtMs),
    expiresAt: isoTime(token.expiresAtMs),
    revokedAt: isoTime(token.revokedAtMs),
    lastUsedAt: isoTime(token.lastUsedAtMs),
    rate: token.rate === undefined ? null : rateText(token.rate),
  };
}

/** @returns a message if the body is wrong */
function parseWish(body: { readonly [Name in keyof NewToken]?: unknown }): TokenWish | string {
  const { name, role, expiresInDays: days = null } = body;
  if (typeof name !== 'string' || !isTokenName(name)) return `A name must be ${tokenNameRule}.`;
  const known = roles.find((one) => one === role);
  if (known === undefined) return `\`role\` must be ${roles.join(' or ')}.`;
  if (days === null) return { name, role: known, validMs: undefined };
  if (typeof days === 'number' && days > 0 && days <= limits.ops.tokenDaysMax)
    return { name, role: known, validMs: Math.ceil(days * dayMs) };
  return `\`expiresInDays\` must be null, or a number up to ${limits.ops.tokenDaysMax}.`;
}
