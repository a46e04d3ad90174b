const ofThisMachine = /^(localhost|127\..*|\[::1\])$/;

/** Encrypted, or of this machine: no other machine can change the reply. */
export function isSafeUrl({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || (protocol === 'http:' && ofThisMachine.test(hostname));
}
