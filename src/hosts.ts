import { isIPv4, isIPv6 } from 'node:net';

/** A name such as 127.example.org is that of another machine. */
export function isThisMachine(host: string): boolean {
  return ['localhost', '::1', '[::1]'].includes(host) || (isIPv4(host) && host.startsWith('127.'));
}

/** Encrypted, or of this machine: no other machine can change the reply. */
export function isSafeUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isThisMachine(hostname));
}

/** A host that a service listens on as a host that a client can connect to. */
export function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  if (host === '[::]') return '[::1]';
  return isIPv6(host) && /^[0:]*$/.test(host) ? '::1' : host;
}
