import { Hono } from 'hono';
import {
  issueToken,
  isTokenName,
  type TokenWish,
  tokenNameRule,
} from '../../access/issue-token.ts';
import { tokenState } from '../../access/opaque-tokens.ts';
import { limits } from '../../limits.ts';
import { roles, type Store, type TokenRecord } from '../../store/store.ts';
import { isoTime, jsonObject, refuse } from './answers.ts';
import type { OperatorLog } from './log.ts';
import type { SignedInEnv } from './session.ts';

const dayMs = 86_400_000;

/** Lists, makes and revokes tokens, as the commands do, and notes in the log who did it. */
export function tokenRoutes(store: Store, log: OperatorLog, now: () => number): Hono<SignedInEnv> {
  const app = new Hono<SignedInEnv>();

  app.get('/tokens', async (context) => {
    const nowMs = now();
    const tokens = (await store.listTokens()).map((token) => shown(token, nowMs));
    const past = tokens.filter(({ state }) => state !== 'valid');
    const leftOut = new Set(past.slice(0, -limits.ops.pastTokensShown));
    return context.json({
      tokens: tokens.filter((token) => !leftOut.has(token)),
      leftOut: leftOut.size,
    });
  });

  app.post('/tokens', async (context) => {
    const body = await jsonObject(context);
    if (body instanceof Response) return body;
    const wish = parseWish(body);
    if (typeof wish === 'string') return refuse(context, 'bodyWrong', wish);
    const issued = await issueToken(store, wish, now());
    if ('refusal' in issued)
      return refuse(
        context,
        issued.refusal === 'name taken' ? 'tokenNameTaken' : 'tokensTooMany',
        issued.message,
      );
    log.info(
      { operator: context.get('operator'), token: wish.name, role: wish.role },
      'a token was made in the console',
    );
    return context.json({ name: wish.name, token: issued.token }, 201);
  });

  // Not as a part of the path: a token may be named `..`, and clients take that for the folder
  // above.
  app.delete('/tokens', async (context) => {
    const name = context.req.query('name') ?? '';
    if (!(await store.revokeToken(name, now())))
      return refuse(
        context,
        'recordUnknown',
        'There is no token with this name that is not revoked.',
      );
    log.info(
      { operator: context.get('operator'), token: name },
      'a token was revoked in the console',
    );
    return context.body(null, 204);
  });

  return app;
}

function shown(token: TokenRecord, nowMs: number) {
  return {
    name: token.name,
    role: token.role,
    state: tokenState(token, nowMs),
    createdAt: isoTime(token.createdAtMs),
    expiresAt: isoTime(token.expiresAtMs),
    revokedAt: isoTime(token.revokedAtMs),
    lastUsedAt: isoTime(token.lastUsedAtMs),
  };
}

/** @returns what is wrong, if it is a string */
function parseWish({
  name,
  role,
  expiresInDays: days = null,
}: Readonly<Record<string, unknown>>): TokenWish | string {
  if (typeof name !== 'string' || !isTokenName(name)) return `A name must be ${tokenNameRule}.`;
  const known = roles.find((one) => one === role);
  if (known === undefined) return `\`role\` must be ${roles.join(' or ')}.`;
  if (days === null) return { name, role: known, validMs: undefined };
  if (typeof days === 'number' && days > 0 && days <= limits.ops.tokenDaysMax)
    return { name, role: known, validMs: Math.ceil(days * dayMs) };
  return `\`expiresInDays\` must be null, or a number up to ${limits.ops.tokenDaysMax}.`;
}
