import { type Context, Hono } from 'hono';
import { methodNotAllowed } from 'hono/method-not-allowed';
import { secureHeaders } from 'hono/secure-headers';
import { excerpt } from '../../contract/excerpt.ts';
import { refuse } from '../api/answers.ts';
import { type ApiSources, apiRoutes } from '../api/routes.ts';
import type { Fetch } from '../fetch.ts';
import { openConsoleFiles } from './files.ts';

/**
 * The console: its page, and the API that the page asks. It rejects with what a route has thrown.
 */
export function openConsole(sources: ApiSources): Fetch {
  const { routes: files, scriptHashes } = openConsoleFiles();
  const app = new Hono();
  app.use(secureHeaders(headersWith(scriptHashes)));
  app.use(methodNotAllowed({ app, onMethodNotAllowed: refuseMethod }));
  app.route('/api', apiRoutes(sources));
  app.route('/', files);
  app.notFound((context) =>
    refuse(context, 'pathUnknown', `There is nothing at ${excerpt(context.req.path)}.`),
  );
  app.onError((error) => {
    throw error;
  });
  return (request) => app.fetch(request);
}

function refuseMethod(context: Context, methods: readonly string[]): Response {
  const allow = methods.join(', ');
  return refuse(context, 'methodNotAllowed', `${excerpt(context.req.path)} takes ${allow}.`, {
    Allow: allow,
  });
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
