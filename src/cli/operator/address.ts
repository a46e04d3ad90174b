import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import type { Values } from '../../config/flags.ts';
import { readSmallFile } from '../../disk/files.ts';
import { limits } from '../../limits.ts';
import type { Readiness } from '../../ops/contract.ts';
import { CommandError } from '../command.ts';

type OperatorAddress = ReturnType<typeof operatorAddress>;

export const addressFlags = ['ops-host', 'ops-port', 'ops-tls-certificate'] as const;

/** @param purpose what a command needs the port for */
export function operatorAddress(values: Values<(typeof addressFlags)[number]>, purpose: string) {
  const { 'ops-host': host, 'ops-port': port, 'ops-tls-certificate': certificate } = values;
  if (port === 'off') throw new CommandError(`--ops-port off leaves no port to ${purpose}`);
  // The certificate of the service in PEM. Without one, connections are not encrypted.
  return { host: reachable(host), port, certificate };
}

/** An address that a service listens on as an address that a client can connect to. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return isIP(host) === 6 && /^[0:]*$/.test(host) ? '::1' : host;
}

export function consoleUrl({ host, port, certificate }: OperatorAddress): string {
  const scheme = certificate === undefined ? 'http' : 'https';
  return `${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}/`;
}

/** Asks the operators' listener for `/readyz`. @throws CommandError if no service answers */
export async function readiness(address: OperatorAddress): Promise<Readiness> {
  const body = await ask(address).catch((error) => {
    throw noAnswer(address, error.message);
  });
  if (/^\{"ready":(true|false),"checks":\[/.test(body)) return JSON.parse(body);
  throw noAnswer(address, 'the reply is not from Plant Store');
}

function noAnswer({ host, port }: OperatorAddress, why: string): CommandError {
  const named = 'start the service, or name its port with --ops-host and --ops-port';
  return new CommandError(`no service answers at ${host} port ${port} (${why}); ${named}`);
}

/** The certificate must be that of the file, which is for other names than this address. */
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
