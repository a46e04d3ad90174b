import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { type Answer, fieldOf, type OperatorRequest } from './answer.ts';

/** RFC 9110 §12.5.3. */
export function takesGzip(request: OperatorRequest): boolean {
  const accepted = fieldOf(request, 'accept-encoding') ?? '';
  return /\bgzip\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(accepted);
}

const compress = promisify(gzip);

/** A packet takes less. Secrets are in smaller replies, so no size tells of one. */
const smallBytes = 1_400;

/** The answer, compressed if it is large and the client takes it. */
export async function packed(request: OperatorRequest, answer: Answer): Promise<Answer> {
  if (answer.body.length < smallBytes || !takesGzip(request)) return answer;
  const body = await compress(answer.body);
  const headers = { ...answer.headers, 'Content-Encoding': 'gzip', Vary: 'Accept-Encoding' };
  return { ...answer, headers, body };
}
