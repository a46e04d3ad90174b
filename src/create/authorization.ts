import { tokenCharacter } from '../contract/media-type.ts';
import { Refusal } from '../contract/problems.ts';
import type { Exchange } from '../http/exchange.ts';
import type { Fields } from '../http/request-head.ts';
import { limits } from '../limits.ts';
import type { Access, Caller } from '../tokens/access.ts';
import { Tally } from '../tokens/tally.ts';

/** `Bearer` in any case, one or more spaces, b64token (RFC 9110 §11.4, RFC 6750 §2.1). */
const bearerCredentials = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i;

/** Credentials of any scheme: a token, then the end or a space (RFC 9110 §11.4). */
const anyCredentials = new RegExp(`^(${tokenCharacter}+)(?: |$)`);

/**
 * The caller of this request, who may have a role that creates no plants (`roleRefusal`), or a
 * refusal with code 40005, 40100, 40101, 40300 or 50301. A promise only for an unknown token, which
 * may be new, or may have ended.
 */
export function authenticateCreate(
  exchange: Exchange,
  fields: Fields,
  access: Access,
): Caller | Refusal | Promise<Caller | Refusal> {
  const headers = fields.get('authorization');
  if (headers === undefined) return tokenMissing;
  if (headers.length > 1) return malformed('there is more than one');
  const [header = ''] = headers;
  const recalled = access.recall(header);
  if (recalled !== undefined) return recalled;
  const token = bearerCredentials.exec(header)?.[1];
  if (token === undefined || token.length > access.tokenCharsMax)
    return notAToken(header, access.tokenCharsMax);
  const caller = access.authenticate(token, header);
  if (caller !== undefined) return caller;
  return access.authenticateAgain(token, header).then((found) => {
    if (!(found instanceof Tally)) return found;
    // Without a valid token, a client cannot fill the collector of traces.
    exchange.observer = found;
    return new Refusal('tokenInvalid');
  });
}

export function roleRefusal(role: Caller['role']): Refusal {
  return new Refusal(
    'scopeInsufficient',
    `A token with the role \`${role}\` may not create plants; use one with the role \`create\`.`,
  );
}

export type Throttle = (step: () => void) => void;

/**
 * Delays refusals beyond `limits.access.refusalsAtOnce` in a second, so that a flood of wrong tokens
 * slows no valid token down.
 */
export function createThrottle(): Throttle {
  let secondEndsAtMs = 0;
  let done = 0;
  return (step) => {
    const nowMs = performance.now();
    if (nowMs >= secondEndsAtMs) {
      secondEndsAtMs = nowMs + 1_000;
      done = 0;
    }
    done += 1;
    if (done <= limits.access.refusalsAtOnce) step();
    else setTimeout(step, limits.access.refusalDelayMs);
  };
}

function notAToken(header: string, charsMax: number): Refusal {
  const scheme = anyCredentials.exec(header)?.[1];
  if (scheme === undefined) return malformed('it does not start with a scheme and a space');
  if (scheme.toLowerCase() !== 'bearer') return tokenMissing;
  return malformed(
    `after \`Bearer\` there must be one token of at most ${charsMax} of the characters ` +
      'A-Z a-z 0-9 - . _ ~ + /, with = only at its end',
  );
}

const tokenMissing = new Refusal('tokenMissing');

function malformed(why: string): Refusal {
  return new Refusal('authorizationMalformed', `The Authorization header is malformed: ${why}.`);
}
