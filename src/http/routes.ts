import { Refusal } from '../contract/problems.ts';
import { type CreatePlantOptions, createPlant } from './create-plant.ts';
import { type Exchange, sendJson, sendRefusal } from './exchange.ts';

export interface RoutesOptions extends CreatePlantOptions {
  /** Starts with a slash and ends without one; empty at the root. */
  readonly basePath: string;
  /** The published description, as JSON. */
  readonly openApi: string;
}

/** Everything that the public listener serves. */
export function routes(options: RoutesOptions): (exchange: Exchange) => void {
  const describe = (exchange: Exchange) => sendJson(exchange, 200, options.openApi);
  const paths: Record<string, Record<string, (exchange: Exchange) => void>> = {
    [`${options.basePath}/plants`]: { POST: (exchange) => createPlant(exchange, options) },
    [`${options.basePath}/openapi.json`]: { GET: describe, HEAD: describe },
  };
  const byPath = new Map(Object.entries(paths).map(([path, methods]) => [path, new Map(Object.entries(methods))]));

  return (exchange) => {
    const { url = '', method = '' } = exchange.request;
    const methods = byPath.get(url) ?? byPath.get(pathOf(url));
    if (methods === undefined)
      return sendRefusal(
        exchange,
        new Refusal('pathUnknown', 'There is nothing at this path. Plants are created at /plants, below the base path of the service.'),
      );
    const handle = methods.get(method);
    if (handle !== undefined) return handle(exchange);
    const allow = [...methods.keys()].join(', ');
    sendRefusal(exchange, new Refusal('methodNotAllowed', `This path takes no ${method}; it takes ${allow}.`, allow));
  };
}

/** The path of a request target in origin-form or absolute-form, without its query (RFC 9112 §3.2). */
function pathOf(target: string): string {
  const origin = target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '');
  return origin.replace(/[?#].*$/s, '');
}
