import type { Handler, OperatorRequest } from './answer.ts';

export interface RoutedRequest extends OperatorRequest {
  /** What the path has in the place of each `:name` of the route, decoded. */
  readonly params: Readonly<Record<string, string>>;
}

/** Handlers by method and path, such as `GET /api/plants/:id`. */
export type RouteTable<Request extends RoutedRequest = RoutedRequest> = Readonly<
  Record<string, Handler<Request>>
>;

/** What answers a request that no route takes. @param methods that the path takes; may be none */
export type Otherwise = (methods: readonly string[]) => Handler<RoutedRequest>;

/** The first route that fits answers. */
export function createRouter(table: RouteTable, otherwise: Otherwise): Handler {
  const routes = Object.entries(table).map(([line, handle]) => {
    const [method = '', pathname = ''] = line.split(' ');
    return { method, pattern: new URLPattern({ pathname }), handle };
  });
  return (request) => {
    const { pathname } = request.url;
    const there = routes.filter(({ pattern }) => pattern.test({ pathname }));
    const route = there.find(({ method }) => method === request.method);
    if (route === undefined)
      return otherwise(there.map(({ method }) => method))({ ...request, params: {} });
    const { groups = {} } = route.pattern.exec({ pathname })?.pathname ?? {};
    const params = Object.entries(groups).map(([name, text = '']) => [name, decoded(text)]);
    return route.handle({ ...request, params: Object.fromEntries(params) });
  };
}

/** As it is if it is no UTF-8. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
