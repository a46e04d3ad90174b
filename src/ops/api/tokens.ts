import { rate as parseRate, UsageError } from '../../cli/flags/values.ts';
import { limits } from '../../limits.ts';
import { dayMs, hourMs, isoTime } from '../../quantity-text.ts';
import type { TableReader, TableWriter } from '../../store/tables/tables.ts';
import { type Rate, type Role, roles, type TokenRecord } from '../../store/tables/tokens.ts';
import {
  actorText,
  issueToken,
  isTokenName,
  type RotationWish,
  rotateToken,
  shownToken,
  type TokenWish,
  tokenNameRule,
} from '../../tokens/issue-token.ts';
import { expiresSoon, isInForce } from '../../tokens/opaque-tokens.ts';
import type { Handler } from '../answer.ts';
import type {
  CreatedToken,
  NewRate,
  NewToken,
  RotatedToken,
  Rotation,
  Token,
  TokenList,
} from '../contract.ts';
import { refusedIn, type TokenFigures, type TokenFigureTable } from '../token-figures.ts';
import { answerJson, noContent, refuse, type Unchecked, withJson } from './json.ts';
import type { OperatorLog, SessionRequest } from './session.ts';

export interface TokenSources {
  readonly store: TableReader & TableWriter;
  readonly tokenFigures: TokenFigureTable;
  readonly startedAtMs: number;
  readonly log: OperatorLog;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** All tokens in force, and the last `limits.ops.pastTokensShown` others. */
export function listTokens({ store, tokenFigures, startedAtMs, now }: TokenSources): Handler {
  return async () => {
    const nowMs = now();
    const records = await store.listTokens();
    const all = records.filter(isNoSubject);
    const past = all.filter((token) => !isInForce(token, nowMs));
    const leftOut = new Set(past.slice(0, -limits.ops.pastTokensShown));
    const { byId } = tokenFigures;
    const tokens = all
      .filter((token) => !leftOut.has(token))
      .map((token) => tokenReply(token, byId.get(token.id), nowMs));
    const since = isoTime(startedAtMs);
    return answerJson({ tokens, since, leftOut: leftOut.size } satisfies TokenList);
  };
}

type TokenOfStore = TokenRecord & { readonly role: Role };

function isNoSubject(token: TokenRecord): token is TokenOfStore {
  return token.role !== 'subject';
}

export function createToken({ store, log, now }: TokenSources): Handler<SessionRequest> {
  return withJson(parseWish, async ({ operator }: SessionRequest, wish) => {
    const { name, role } = wish;
    const issued = await issueToken(store, { ...wish, by: actorText(operator) }, now());
    if ('refusal' in issued) return refuse(problemOf[issued.refusal], sentence(issued.message));
    log.info({ operator, token: name, role }, 'a token was made in the console');
    return answerJson({ name, token: issued.token } satisfies CreatedToken, 201);
  });
}

const problemOf = {
  'name taken': 'tokenNameTaken',
  'too many': 'tokensTooMany',
  'not in force': 'tokenUnknown',
  'in rotation': 'tokenInRotation',
} as const;

/** A message that commands print after the name of the program. */
function sentence(message: string): string {
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}.`;
}

/** Gives a token a new secret. */
export function renewToken({ store, log, now }: TokenSources): Handler<SessionRequest> {
  return withJson(parseRotation, async ({ operator }: SessionRequest, wish) => {
    const { name } = wish;
    const rotated = await rotateToken(store, { ...wish, by: actorText(operator) }, now());
    if ('refusal' in rotated) return refuse(problemOf[rotated.refusal], sentence(rotated.message));
    const { token, expiresAtMs, previousUntilMs } = rotated;
    log.info({ operator, token: name }, 'a token was rotated in the console');
    const ends = { expiresAt: isoTime(expiresAtMs), previousUntil: isoTime(previousUntilMs) };
    return answerJson({ name, token, ...ends } satisfies RotatedToken, 201);
  });
}

/** Changes the rate of a token. */
export function limitToken({ store, log }: TokenSources): Handler<SessionRequest> {
  return withJson(parseLimit, async ({ operator }: SessionRequest, { name, rate }) => {
    if (!(await store.limitToken(name, rate))) return refuse('tokenUnknown', nameUnknown);
    log.info({ operator, token: name }, 'the rate of a token was changed in the console');
    return noContent;
  });
}

const nameUnknown = 'There is no token with this name that is not revoked.';

/** The name is in the query: clients would take a path that ends with `..` for its parent. */
export function revokeToken({ store, log, now }: TokenSources): Handler<SessionRequest> {
  return async ({ query, operator }) => {
    const token = query['name'] ?? '';
    if (!(await store.revokeToken(token, now(), actorText(operator))))
      return refuse('tokenUnknown', nameUnknown);
    log.info({ operator, token }, 'a token was revoked in the console');
    return noContent;
  };
}

function tokenReply(token: TokenOfStore, figures: TokenFigures | undefined, nowMs: number): Token {
  const usedAtMs = Math.max(token.lastUsedAtMs ?? 0, figures?.lastUsedAtMs ?? 0);
  return {
    ...shownToken(token, nowMs),
    role: token.role,
    expiresSoon: expiresSoon(token, nowMs),
    // The store knows the uses of other nodes, and this node knows the last minute.
    lastUsedAt: isoTime(usedAtMs || undefined),
    figures: figures ? { created: figures.created, refused: refusedIn(figures) } : null,
  };
}

function parseWish(body: Unchecked<NewToken>): TokenWish | string {
  const { name, role, expiresInDays, rate } = body;
  if (typeof name !== 'string' || !isTokenName(name)) return `A name must be ${tokenNameRule}.`;
  const known = roles.find((one) => one === role);
  if (known === undefined) return `\`role\` must be ${roles.join(' or ')}.`;
  const life = parseLife(expiresInDays);
  if (typeof life === 'string') return life;
  const limit = limitOf(rate);
  return typeof limit === 'string' ? limit : { name, role: known, ...life, ...limit };
}

function parseLimit({ name, rate }: Unchecked<NewRate>) {
  if (typeof name !== 'string') return '`name` must be the name of a token.';
  const limit = limitOf(rate);
  return typeof limit === 'string' ? limit : { name, ...limit };
}

function limitOf(text: unknown = null): { readonly rate: Rate | undefined } | string {
  if (text === null) return { rate: undefined };
  try {
    return { rate: parseRate(`${text}`) };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    return `The rate ${error.message}.`;
  }
}

function parseRotation(body: Unchecked<Rotation>): RotationWish | string {
  const { name, graceHours, expiresInDays } = body;
  if (typeof name !== 'string') return '`name` must be the name of a token.';
  const hoursMax = limits.access.rotationGraceMsMax / hourMs;
  if (typeof graceHours !== 'number' || !(graceHours >= 0 && graceHours <= hoursMax))
    return `\`graceHours\` must be a number from 0 to ${hoursMax}.`;
  const life = parseLife(expiresInDays);
  if (typeof life === 'string') return life;
  return { name, graceMs: Math.ceil(graceHours * hourMs), ...life };
}

function parseLife(days: unknown = null): { readonly validMs: number | undefined } | string {
  if (days === null) return { validMs: undefined };
  if (typeof days === 'number' && days > 0 && days <= limits.ops.tokenDaysMax)
    return { validMs: Math.ceil(days * dayMs) };
  return `\`expiresInDays\` must be null, or a number up to ${limits.ops.tokenDaysMax}.`;
}
