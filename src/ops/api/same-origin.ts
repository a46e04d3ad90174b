import { type Answer, fieldOf, type OperatorRequest } from '../answer.ts';
import { refuse } from './json.ts';

/**
 * Refuses a request that changes something if a browser sent it for a page of another site. A
 * browser says so in `Sec-Fetch-Site` or `Origin`; the scheme in `Origin` may be that of a proxy.
 */
export function refuseOtherSites(request: OperatorRequest): Answer | undefined {
  if (request.method === 'GET') return undefined;
  const site = fieldOf(request, 'sec-fetch-site') ?? 'none';
  const origin = fieldOf(request, 'origin');
  const isOwn = origin === undefined || URL.parse(origin)?.host === request.url.host;
  if (isOwn && (site === 'same-origin' || site === 'none')) return undefined;
  const message =
    'Only a page of this address may do this. A proxy must pass on the Host header unchanged.';
  return refuse('otherSite', message);
}
