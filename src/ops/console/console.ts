import type { RequestListener } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { methodNotAllowed } from 'hono/method-not-allowed';
import { secureHeaders } from 'hono/secure-headers';
import { refuse } from '../api/answers.ts';
import { type ApiSources, apiRoutes } from '../api/routes.ts';
import { defectMessage } from '../listener.ts';
import { openConsoleFiles } from './files.ts';

/**
 * The console: its page, and the API that the page asks.
 *
 * @param onError told of what a route has thrown; the caller is answered
 */
export function openConsole(sources: ApiSources, onError: (error: unknown) => void): RequestListener {
  const { routes: files, scriptHashes } = openConsoleFiles();
  const app = new Hono();
  app.use(secureHeaders(headersWith(scriptHashes)));
  app.use(methodNotAllowed({ app, onMethodNotAllowed: refuseMethod }));
  app.route('/api', apiRoutes(sources));
  app.route('/', files);
  app.notFound((context) => refuse(context, 40400, `There is nothing at ${context.req.path}.`));
  app.onError((error, context) => {
    onError(error);
    return refuse(context, 50000, defectMessage);
  });
  return getRequestListener(app.fetch, { overrideGlobalObjects: false });
}

function refuseMethod(context: Context, methods: readonly string[]): Response {
  const allow = methods.join(', ');
  return refuse(context, 40500, `${context.req.path} takes ${allow}.`, { Allow: allow });
}

/** Scripts, styles, images and data come from here, and nowhere else. */
function headersWith(scriptHashes: readonly string[]): Parameters<typeof secureHeaders>[0] {
  return {
    contentSecurityPolicy: {
      defaultSrc: ["'none'"],
      scriptSrc: ["'self'", ...scriptHashes],
      styleSrc: ["'self'"],
      imgSrc: ["'self'"],
      connectSrc: ["'self'"],
      formAction: ["'none'"],
      frameAncestors: ["'none'"],
      baseUri: ["'none'"],
    },
    xFrameOptions: 'DENY',
    // It may be reached without TLS, on the loopback address.
    strictTransportSecurity: false,
  };
}
