import type { MiddlewareHandler } from 'hono';
import { refuse } from './json.ts';

/**
 * Refuses a request that changes something if a browser sent it for a page of another site. A
 * browser says so in `Sec-Fetch-Site` or `Origin`; the scheme in `Origin` may be that of a proxy.
 * Hono's `csrf` checks forms only.
 */
export const refuseOtherSites: MiddlewareHandler = async (context, next) => {
  const { method, url } = context.req;
  if (method === 'GET') return next();
  const site = context.req.header('Sec-Fetch-Site') ?? 'none';
  const origin = context.req.header('Origin');
  const isOwn = origin === undefined || URL.parse(origin)?.host === new URL(url).host;
  if (isOwn && (site === 'same-origin' || site === 'none')) return next();
  const message =
    'Only a page of this address may do this. A proxy must pass on the Host header unchanged.';
  return refuse(context, 'otherSite', message);
};
