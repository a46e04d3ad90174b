import type { IncomingMessage } from 'node:http';

/** How many header lines the request has of that name, which is in lower case. */
export function fieldLines({ rawHeaders }: IncomingMessage, name: string): number {
  return rawHeaders.filter((field, index) => index % 2 === 0 && field.toLowerCase() === name).length;
}
