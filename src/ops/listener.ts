import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { isIP } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';
import { secureHeaders } from 'hono/secure-headers';
import { limits } from '../limits.ts';

export interface OperatorListenerOptions {
  readonly opsHost: string;
  readonly opsPort: number;
  /** Names that a request may ask for besides `localhost` and addresses. */
  readonly opsNames: readonly string[];
  readonly reusePort: boolean;
  /** Sources of scripts, in the words of a Content-Security-Policy, besides the listener itself. */
  readonly scriptHashes: readonly string[];
}

export interface OperatorListener {
  /** `http://host:port` as bound. */
  readonly origin: string;
  /** Answers what is under way and closes all connections. */
  close(): Promise<void>;
}

/**
 * Opens the port for operators, on the main thread: that has nothing else to do, and so answers also when those that answer
 * clients are saturated.
 *
 * @param onError told of what a route has thrown; the caller is answered
 * @throws the error of listen(2), such as EADDRINUSE
 */
export async function listenForOperators(
  options: OperatorListenerOptions,
  routes: Hono,
  onError: (error: Error) => void,
): Promise<OperatorListener> {
  const app = new Hono();
  app.use(refuseOtherNames(options.opsNames));
  app.use(secureHeaders(headersWith(options.scriptHashes)));
  app.route('/', routes);
  app.notFound((context) => context.json({ error: 40400, message: `There is nothing at ${context.req.path}.` }, 404));
  app.onError((error, context) => {
    onError(error);
    return context.json({ error: 50000, message: 'The service has met a defect, or cannot read its store; its log says more.' }, 500);
  });
  const server = createAdaptorServer({ fetch: app.fetch, serverOptions, overrideGlobalObjects: false }) as Server;
  server.maxConnections = limits.opsConnectionsMax;
  server.listen({ host: options.opsHost, port: options.opsPort, reusePort: options.reusePort && process.platform === 'linux' });
  await once(server, 'listening');
  const { address, family, port } = server.address() as AddressInfo;
  return {
    origin: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      // They are kept alive, and nothing that an operator asks for takes long.
      setTimeout(() => (server as unknown as { closeAllConnections(): void }).closeAllConnections(), limits.opsCloseMs).unref();
      await closed;
    },
  };
}

const serverOptions = {
  maxHeaderSize: limits.headerBytesMax,
  headersTimeout: limits.headersMs,
  requestTimeout: limits.requestMs,
  keepAliveTimeout: limits.idleMs,
};

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

/**
 * A page of another site can make its own name lead to this address (DNS rebinding), and would then be of the same origin. It cannot
 * do so with `localhost` or an address.
 */
function refuseOtherNames(names: readonly string[]) {
  const known = new Set(['localhost', ...names]);
  return async (context: { req: { url: string }; json(body: object, status: 421): Response }, next: () => Promise<void>) => {
    const { hostname } = new URL(context.req.url);
    if (known.has(hostname) || isIP(hostname.replace(/^\[(.*)\]$/, '$1')) > 0) return next();
    const message = `This listener is not known as ${JSON.stringify(hostname)}. Use its address, or start the service with --ops-names ${hostname}.`;
    return context.json({ error: 42100, message }, 421);
  };
}
