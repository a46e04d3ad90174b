import { isIP } from 'node:net';
import type { Values } from '../../config/flags.ts';
import { CommandError } from '../command.ts';

/** Where the operators' listener of a running service is. */
export interface OperatorAddress {
  readonly host: string;
  readonly port: number;
  /** PEM file with the certificate of the service. Undefined: connections are not encrypted. */
  readonly certificate: string | undefined;
}

/** The flags of `operatorAddress`. */
export const addressFlags = ['ops-host', 'ops-port', 'ops-tls-certificate'] as const;

/**
 * @param purpose what a command needs the port for
 * @throws CommandError without a port; UsageError
 */
export function operatorAddress(
  values: Values<(typeof addressFlags)[number]>,
  purpose: string,
): OperatorAddress {
  const { 'ops-host': host, 'ops-port': port, 'ops-tls-certificate': certificate } = values;
  if (port === 'off') throw new CommandError(`--ops-port off leaves no port to ${purpose}`);
  return { host: reachable(host), port, certificate };
}

/** An address that a service listens on as an address that a client can connect to. */
function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return isIP(host) === 6 && /^[0:]*$/.test(host) ? '::1' : host;
}

/** The address of the console in a browser on this machine. */
export function consoleUrl({ host, port, certificate }: OperatorAddress): string {
  const scheme = certificate === undefined ? 'http' : 'https';
  return new URL(`${scheme}://${isIP(host) === 6 ? `[${host}]` : host}:${port}/`).href;
}
