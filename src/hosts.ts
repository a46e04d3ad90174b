import { isIPv4 } from 'node:net';

/** A name such as 127.example.org is that of another machine. */
export function isThisMachine(host: string): boolean {
  return ['localhost', '::1', '[::1]'].includes(host) || (isIPv4(host) && host.startsWith('127.'));
}

/** Encrypted, or of this machine: no other machine can change the reply. */
export function isSafeUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && isThisMachine(hostname));
}
