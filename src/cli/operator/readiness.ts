import type { IncomingMessage } from 'node:http';
import { readSmallFile } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import type { Readiness } from '../../ops/contract.ts';
import { CommandError } from '../command.ts';
import type { OperatorAddress } from './address.ts';

/** Asks the operators' listener for `/readyz`. @throws CommandError if no service answers */
export async function readiness(address: OperatorAddress): Promise<Readiness> {
  const body = await ask(address).catch((error) => {
    throw noAnswer(address, error.message);
  });
  if (/^\{"ready":(true|false),"checks":\[/.test(body)) return JSON.parse(body);
  throw noAnswer(address, 'the reply is not from Plant Store');
}

function noAnswer({ host, port }: OperatorAddress, why: string): CommandError {
  return new CommandError(`no service answers at ${host} port ${port} (${why})`);
}

/**
 * The service must have the certificate of the file. The certificate is for other names than the
 * address of this machine.
 */
async function ask({ host, port, certificate }: OperatorAddress): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const timeout = limits.cli.healthMs;
  const tls = certificate !== undefined && {
    ca: readSmallFile(certificate, limits.tls.fileBytesMax),
    allowPartialTrustChain: true,
    checkServerIdentity: () => undefined,
  };
  // An import of node:http would load `fetch`, too: 80 ms of CPU time, and 16 MB. TLS takes 40 ms.
  const http = process.getBuiltinModule(tls ? 'node:https' : 'node:http');
  const headers = { Host: `localhost:${port}` };
  const asked = http
    .request({ host, port, path: '/readyz', headers, timeout, ...tls })
    .on('response', (reply) => bodyOf(reply).then(resolve, reject))
    .on('timeout', () => asked.destroy(new Error(`no reply within ${timeout / 1_000} s`)))
    .on('error', reject)
    .end();
  return promise;
}

async function bodyOf(reply: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of reply) {
    bytes += chunk.length;
    if (bytes > limits.cli.replyBytesMax) throw new Error('the reply is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
