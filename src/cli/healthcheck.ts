import { type ClientRequest, get, type RequestOptions } from 'node:http';
import { get as getEncrypted } from 'node:https';
import { isIP } from 'node:net';
import { text } from 'node:stream/consumers';
import { readSmallFile } from '../disk/files.ts';
import { limits } from '../limits.ts';
import type { Readiness } from '../ops/contract.ts';
import { CommandError, command } from './command.ts';

export const healthcheck = command({
  positionals: [],
  summary: 'Ask a running service whether it stores creates. Exit code 1 means no, or no answer.',
  need: 'Use it for the health check of a container, which has no curl.',
  flags: ['ops-host', 'ops-port', 'ops-tls-certificate', 'json'],
  examples: ['plant-store healthcheck', 'plant-store healthcheck --ops-port 9091'],
  async run({ values }, terminal) {
    const { 'ops-host': host, 'ops-port': port } = values;
    if (port === 'off')
      throw new CommandError('--ops-port off leaves no port to ask for the health');
    const { 'ops-tls-certificate': certificate } = values;
    const { ready, checks } = await readiness(reachable(host), port, certificate);
    if (values.json) terminal.print(JSON.stringify({ ready, checks }));
    else for (const { name, level, says } of checks) terminal.print(`${level}  ${name}: ${says}`);
    return ready ? 0 : 1;
  },
});

/** An address that a service listens on as an address that a client can connect to. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return isIP(host) === 6 && /^[0:]*$/.test(host) ? '::1' : host;
}

/** @throws CommandError if there is no answer, or another program answers */
function readiness(
  host: string,
  port: number,
  certificate: string | undefined,
): Promise<Readiness> {
  const { promise, resolve, reject } = Promise.withResolvers<Readiness>();
  const fail = ({ message }: Error) =>
    reject(new CommandError(`no service answers at ${host} port ${port} (${message})`));
  const timeout = limits.cli.healthMs;
  const options = { host, port, path: '/readyz', headers: { Host: 'localhost' }, timeout };
  const request = ask(options, certificate)
    .on('response', (reply) => text(reply).then(readinessIn).then(resolve, fail))
    .on('timeout', () => request.destroy(new Error(`no reply within ${timeout / 1_000} s`)))
    .on('error', fail);
  return promise;
}

/**
 * Over TLS, the service must have the certificate of the file. The certificate is for other names
 * than the address of this machine.
 */
function ask(options: RequestOptions, certificate: string | undefined): ClientRequest {
  if (certificate === undefined) return get(options);
  return getEncrypted({
    ...options,
    ca: readSmallFile(certificate, limits.tls.fileBytesMax),
    allowPartialTrustChain: true,
    checkServerIdentity: () => undefined,
  });
}

/** @throws Error if the reply is of another program */
function readinessIn(body: string): Readiness {
  if (!/^\{"ready":(true|false),"checks":\[/.test(body))
    throw new Error('the reply is not from Plant Store');
  return JSON.parse(body);
}
