import { limitText, type RateLimiter } from '../access/rate-limit.ts';
import { Refusal } from '../contract/problems.ts';
import { numberText } from '../quantity-text.ts';
import type { Rate } from '../store/tokens.ts';

export function refuseBeyondRate(
  bucket: number,
  rate: Rate,
  limiter: RateLimiter,
): Refusal | undefined {
  const waitMs = limiter.take(bucket, rate);
  return waitMs === 0 ? undefined : beyondRate(rate, Math.ceil(waitMs / 1_000));
}

/** The fields of draft-ietf-httpapi-ratelimit-headers-10. */
function beyondRate(rate: Rate, waitSeconds: number): Refusal {
  const windowSeconds = Math.max(1, Math.ceil((86_400 * rate.burst) / rate.perDay));
  return new Refusal(
    'rateLimited',
    `The token may send creates at ${limitText(rate)}. This ` +
      `plant was not stored; retry in ${numberText(waitSeconds)} s.`,
    {
      'Retry-After': `${waitSeconds}`,
      'RateLimit-Policy': `"token";q=${rate.burst};w=${windowSeconds}`,
      RateLimit: `"token";r=0;t=${waitSeconds}`,
    },
  );
}
