import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { Readable } from 'node:stream';
import {
  type ClientFiles,
  certificateFault,
  readClientCertificate,
} from '../client-certificate.ts';

/**
 * `fetch` that presents a client certificate on encrypted connections, and says so if the service
 * demands or refuses one.
 *
 * @throws CommandError if the files do not fit
 */
export function certifiedFetch(url: string, files: ClientFiles | undefined): typeof fetch {
  const isEncrypted = URL.parse(url)?.protocol === 'https:';
  const credentials = isEncrypted && files ? readClientCertificate(files) : undefined;
  const send = credentials ? fetchOver(new Agent({ keepAlive: true, ...credentials })) : fetch;
  let hasAnswered = false;
  return async (...sent) => {
    try {
      const reply = await send(...sent);
      hasAnswered = true;
      return reply;
    } catch (error) {
      // A service that has answered has no fault to find with the certificate.
      if (!isEncrypted || hasAnswered) throw error;
      const { cause = error } = error as Error;
      const fault = certificateFault(cause as Error, credentials?.cert, '--tls-client-ca');
      throw fault === undefined ? error : new Error(`the service ${fault}`);
    }
  };
}

/** The global `fetch` takes no agent. This one takes the requests of the client only. */
function fetchOver(agent: Agent): typeof fetch {
  return async (address, { method = 'GET', headers, body, signal } = {}) => {
    const options = { agent, method, headers: Object.fromEntries(new Headers(headers)) };
    const sent = request(`${address}`, { ...options, ...(signal ? { signal } : {}) });
    const [reply] = (await once(sent.end(body), 'response')) as [IncomingMessage];
    // What reads the reply gets an error that comes later.
    sent.on('error', () => undefined);
    return responseOf(reply, `${address}`);
  };
}

const withoutBody = [204, 205, 304];

function responseOf(reply: IncomingMessage, url: string): Response {
  const { statusCode: status = 0, headersDistinct } = reply;
  const headers = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  const isEmpty = withoutBody.includes(status);
  if (isEmpty) reply.resume();
  const body = isEmpty ? null : (Readable.toWeb(reply) as ReadableStream<Uint8Array>);
  return Object.defineProperty(new Response(body, { status, headers }), 'url', { value: url });
}
