import { type ClientRequest, type IncomingMessage, type RequestOptions, request } from 'node:http';
import { request as requestEncrypted } from 'node:https';
import { readSmallFile } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import type { Readiness } from '../../ops/contract.ts';
import { CommandError } from '../command.ts';
import { addressText, type OperatorAddress } from './address.ts';

interface Question {
  readonly method?: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly cookie?: string;
  readonly json?: object;
  /** Its abort ends the request with `NoAnswerError`. */
  readonly signal?: AbortSignal | undefined;
}

export interface Answer {
  readonly status: number;
  readonly body: string;
  /** The name and value of the first cookie that the service sets. */
  readonly cookie: string | undefined;
}

/** No service answers, or another program does. */
export class NoAnswerError extends CommandError {}

/** Sends a request to the operators' listener. @throws NoAnswerError */
export function ask(address: OperatorAddress, question: Question): Promise<Answer> {
  const { method = 'GET', path, cookie, json, signal } = question;
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const fail = ({ message }: Error) =>
    reject(new NoAnswerError(`no service answers at ${addressText(address)} (${message})`));
  const { host, port } = address;
  const timeout = limits.cli.healthMs;
  const headers = {
    Host: `localhost:${port}`,
    ...(cookie === undefined ? {} : { Cookie: cookie }),
    ...(json === undefined ? {} : { 'Content-Type': 'application/json' }),
  };
  const asked = send({ host, port, method, path, headers, timeout, signal }, address)
    .on('response', (reply) => answerIn(reply).then(resolve, fail))
    .on('timeout', () => asked.destroy(new Error(`no reply within ${timeout / 1_000} s`)))
    .on('error', fail)
    .end(json === undefined ? undefined : JSON.stringify(json));
  return promise;
}

/**
 * Over TLS, the service must have the certificate of the file. The certificate is for other names
 * than the address of this machine.
 */
function send(options: RequestOptions, { certificate }: OperatorAddress): ClientRequest {
  if (certificate === undefined) return request(options);
  return requestEncrypted({
    ...options,
    ca: readSmallFile(certificate, limits.tls.fileBytesMax),
    allowPartialTrustChain: true,
    checkServerIdentity: () => undefined,
  });
}

async function answerIn(reply: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of reply) {
    bytes += chunk.length;
    if (bytes > limits.cli.replyBytesMax) throw new Error('the reply is too long');
    chunks.push(chunk);
  }
  return {
    status: reply.statusCode ?? 0,
    body: Buffer.concat(chunks).toString(),
    cookie: /^[^;]+/.exec(reply.headers['set-cookie']?.[0] ?? '')?.[0],
  };
}

/** @throws NoAnswerError if there is no answer, or another program answers */
export async function readiness(address: OperatorAddress): Promise<Readiness> {
  const { body } = await ask(address, { path: '/readyz' });
  if (/^\{"ready":(true|false),"checks":\[/.test(body)) return JSON.parse(body);
  throw new NoAnswerError(
    `no service answers at ${addressText(address)} (the reply is not from Plant Store)`,
  );
}
