import type { MiddlewareHandler } from 'hono';
import { refuse } from './answers.ts';

/**
 * Requests that change something come from the console's own page, or from a program, and not from
 * a page of another site in a browser that is signed in. Browsers tell it in `Sec-Fetch-Site` or in
 * `Origin`, whose scheme may be that of a proxy.
 */
export const refuseOtherSites: MiddlewareHandler = async (context, next) => {
  const { method, url } = context.req;
  if (method === 'GET' || method === 'HEAD') return next();
  const site = context.req.header('Sec-Fetch-Site') ?? 'none';
  const origin = context.req.header('Origin');
  const isOwn = origin === undefined || URL.parse(origin)?.host === new URL(url).host;
  if (isOwn && (site === 'same-origin' || site === 'none')) return next();
  return refuse(
    context,
    'otherSite',
    'This is only done for a page of this very address. A proxy in between must pass on the Host header as it is.',
  );
};
