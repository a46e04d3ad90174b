import { excerpt } from '../contract/excerpt.ts';
import { Refusal } from '../contract/problems.ts';
import { type Exchange, type Handle, sendJson, sendRefusal } from '../http/exchange.ts';
import { pathOf, targetMalformed } from '../http/request-head.ts';
import { createThrottle } from './authorization.ts';
import { type CreatePlantOptions, createPlant } from './create-plant.ts';
import { answerPreflight, type CrossOrigin, isPreflight, whyNotAllowed } from './cross-origin.ts';
import { asksForHtml, referenceRoutes, sendToPage } from './reference/routes.ts';

export interface RoutesOptions extends Omit<CreatePlantOptions, 'throttle'> {
  readonly bodyBytesMax: number;
  readonly basePath: string;
  readonly openApi: string;
  /** Undefined: only pages of the service itself may call it. */
  readonly cors: CrossOrigin | undefined;
}

export function routes(options: RoutesOptions): Handle {
  const { basePath, cors } = options;
  const creating = { ...options, throttle: createThrottle() };
  const describe = (exchange: Exchange) => sendJson(exchange, options.openApi);
  const calledByPages: Record<string, Record<string, Handle>> = {
    [`${basePath}/plants`]: {
      POST: (exchange, head) => createPlant(exchange, head, creating),
    },
    [`${basePath}/openapi.json`]: { GET: describe, HEAD: describe },
  };
  const paths = { ...calledByPages, ...referenceRoutes(basePath, options.bodyBytesMax) };
  const byPath = new Map(
    Object.entries(paths).map(([path, methods]) => [path, new Map(Object.entries(methods))]),
  );
  const entrances = ['/', basePath, `${basePath}/`];

  return (exchange, head) => {
    const { target, method } = head;
    const path = byPath.has(target) ? target : pathOf(target);
    if (path === undefined) return sendRefusal(exchange, targetMalformed);
    const methods = byPath.get(path);
    if (methods === undefined)
      return entrances.includes(path) && asksForHtml(head)
        ? sendToPage(exchange, basePath)
        : sendRefusal(exchange, pathUnknown);
    const handle = methods.get(method);
    if (handle !== undefined) return handle(exchange, head);
    const allow = [...methods.keys()].join(', ');
    const isPreflightHere = path in calledByPages && isPreflight(head);
    if (isPreflightHere && cors?.allows(head.fields)) return answerPreflight(exchange, allow);
    sendRefusal(
      exchange,
      new Refusal(
        'methodNotAllowed',
        `The method ${excerpt(method)} is not allowed here; use ${allow}.`,
        { Allow: allow },
        isPreflightHere ? whyNotAllowed(head.fields) : undefined,
      ),
    );
  };
}

const pathUnknown = new Refusal('pathUnknown');
