import type { IncomingMessage } from 'node:http';
import type { RequestOptions } from 'node:https';
import { problems } from '../../contract/problems.ts';
import { readSmallFile } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import type { Readiness } from '../../ops/contract.ts';
import {
  type ClientCredentials,
  certificateFault,
  readClientCertificate,
} from '../client-certificate.ts';
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
export async function ask(address: OperatorAddress, question: Question): Promise<Answer> {
  const { method = 'GET', path, cookie, json, signal } = question;
  const tls = tlsOptions(address);
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const fail = (error: Error) => reject(noAnswer(address, error, tls));
  const { host, port } = address;
  const timeout = limits.cli.healthMs;
  const headers = {
    Host: `localhost:${port}`,
    ...(cookie === undefined ? {} : { Cookie: cookie }),
    ...(json === undefined ? {} : { 'Content-Type': 'application/json' }),
  };
  const options = { host, port, method, path, headers, timeout, signal };
  // An import of node:http would load `fetch`, too: 80 ms of CPU time, and 16 MB. TLS takes 40 ms.
  const http = process.getBuiltinModule(tls === undefined ? 'node:http' : 'node:https');
  const asked = http
    .request({ ...options, ...tls })
    .on('response', (reply) => answerIn(reply).then(resolve, fail))
    .on('timeout', () => asked.destroy(new Error(`no reply within ${timeout / 1_000} s`)))
    .on('error', fail)
    .end(json === undefined ? undefined : JSON.stringify(json));
  return promise;
}

type TlsOptions = RequestOptions & Partial<ClientCredentials>;

/**
 * The service must have the certificate of the file. The certificate is for other names than the
 * address of this machine. The files are read for each request, because they may be renewed.
 *
 * @returns undefined for a connection that is not encrypted
 * @throws NoAnswerError if the files do not fit, which another reading may settle
 */
function tlsOptions({ certificate, client }: OperatorAddress): TlsOptions | undefined {
  if (certificate === undefined) return undefined;
  try {
    return {
      ...(client && readClientCertificate(client)),
      ca: readSmallFile(certificate, limits.tls.fileBytesMax),
      allowPartialTrustChain: true,
      checkServerIdentity: () => undefined,
    };
  } catch (error) {
    throw new NoAnswerError((error as Error).message, { cause: error });
  }
}

function noAnswer(
  address: OperatorAddress,
  error: Error,
  tls: TlsOptions | undefined,
): NoAnswerError {
  const fault = tls && certificateFault(error, tls.cert, '--ops-tls-client-ca');
  return new NoAnswerError(
    fault === undefined
      ? `no service answers at ${addressText(address)} (${error.message})`
      : `the service at ${addressText(address)} ${fault}`,
  );
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
  const wantsTls =
    address.certificate === undefined &&
    body.startsWith(`{"error":${problems.httpMalformed.code},`);
  throw new NoAnswerError(
    wantsTls
      ? `the service at ${addressText(address)} takes encrypted connections only; name the file of its certificate with --ops-tls-certificate`
      : `no service answers at ${addressText(address)} (the reply is not from Plant Store)`,
  );
}
