import { once } from 'node:events';
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type AddressInfo, isIP } from 'node:net';
import { limits } from '../limits.ts';
import { loadedOnce } from '../loaded-once.ts';
import type { Probes } from './probes.ts';

export interface OperatorListenerOptions {
  readonly opsHost: string;
  readonly opsPort: number;
  /** Names that a request may ask for besides `localhost` and addresses. */
  readonly opsNames: readonly string[];
  readonly reusePort: boolean;
  readonly probes: Probes;
  /** Answers everything else. It is asked for when it is needed for the first time. */
  readonly loadConsole: () => Promise<RequestListener>;
  /** Told of what a probe or the console has thrown; the caller is answered. */
  readonly onError: (error: unknown) => void;
}

/** For operators whom something has failed that is in the log. */
export const defectMessage = 'The service has met a defect, or cannot read its store; its log says more.';

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
 * @throws the error of listen(2), such as EADDRINUSE
 */
export async function listenForOperators(options: OperatorListenerOptions): Promise<OperatorListener> {
  const { opsHost: host, opsPort, reusePort, opsNames, probes, onError } = options;
  const knownNames = new Set(['localhost', ...opsNames]);
  const loadConsole = loadedOnce(options.loadConsole);

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = urlOf(request);
    if (url === undefined) return sendError(response, 421, 'The request does not say which host and path it is for.');
    if (!isKnown(url.hostname, knownNames)) return sendError(response, 421, unknownName(url.hostname));
    const probe = probes[url.pathname];
    if (probe === undefined) return (await loadConsole())(asRead(request, url), response);
    if (request.method !== 'GET' && request.method !== 'HEAD')
      return sendError(response, 405, 'A probe takes GET.', { Allow: 'GET, HEAD' });
    const { status, type, body } = await probe();
    send(response, status, type, body);
  }

  const server = httpServer(serverOptions, (request, response) => {
    answer(request, response).catch((error) => {
      onError(error);
      sendError(response, 500, defectMessage);
    });
  });
  server.maxConnections = limits.opsConnectionsMax;
  server.listen({ host, port: opsPort, reusePort: reusePort && process.platform === 'linux' });
  await once(server, 'listening');
  const { address, family, port } = server.address() as AddressInfo;
  return {
    origin: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      // They are kept alive, and nothing that an operator asks for takes long.
      setTimeout(() => server.closeAllConnections(), limits.opsCloseMs).unref();
      await closed;
    },
  };
}

/** An `import` of `node:http` would also load its WebSocket, and with it 15 MB that the listener does not need. */
const { createServer: httpServer } = process.getBuiltinModule('node:http');

const serverOptions = {
  maxHeaderSize: limits.headerBytesMax,
  headersTimeout: limits.headersMs,
  requestTimeout: limits.requestMs,
  keepAliveTimeout: limits.opsIdleMs,
  connectionsCheckingInterval: limits.opsCheckMs,
};

/**
 * What a request is for; undefined if that cannot be told. Its target may name the host itself, and then the Host header is ignored
 * (RFC 9112 §3.2.2).
 */
function urlOf({ url: target = '', headers: { host } }: IncomingMessage): URL | undefined {
  const origin = host ? `http://${host}` : '';
  const url = URL.parse(target.startsWith('/') ? origin + target : target);
  return url?.protocol === 'http:' && url.username === '' ? url : undefined;
}

/** The request, as it has been read here: the console must not understand a strange Host or target in another way. */
function asRead(request: IncomingMessage, { host, pathname, search }: URL): IncomingMessage {
  request.headers.host = host;
  request.url = pathname + search;
  return request;
}

/**
 * A page of another site can make its own name lead to this address (DNS rebinding), and would then be of the same origin. It cannot
 * do so with `localhost` or an address.
 */
function isKnown(name: string, knownNames: ReadonlySet<string>): boolean {
  return knownNames.has(name) || isIP(name.replace(/^\[(.*)\]$/, '$1')) > 0;
}

function unknownName(name: string): string {
  return `This listener is not known as ${JSON.stringify(name)}. Use its address, or start the service with --ops-names ${name}.`;
}

function sendError(response: ServerResponse, status: number, message: string, headers: Record<string, string> = {}): void {
  send(response, status, 'application/json', JSON.stringify({ error: status * 100, message }), headers);
}

function send(response: ServerResponse, status: number, type: string, body: string, headers: Record<string, string> = {}): void {
  if (response.headersSent) return void response.destroy();
  response.writeHead(status, { ...headersOfAll, ...headers, 'Content-Type': type, 'Content-Length': Buffer.byteLength(body) });
  response.end(body);
}

const headersOfAll = {
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
};
