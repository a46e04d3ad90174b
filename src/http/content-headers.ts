import { Refusal } from '../contract/problems.ts';
import { numberText } from '../quantity-text.ts';
import { quotedString, tokenCharacter } from './grammar.ts';
import type { RequestHead } from './request-head.ts';

/** Refuses a body that is not plain JSON (41500), or too long by its Content-Length (41300). */
export function refuseContent(head: RequestHead, bodyBytesMax: number): Refusal | undefined {
  const { fields } = head;
  if (!isJsonInUtf8(fields.get('content-type'))) return notJson;
  if (fields.has('content-encoding')) return compressed;
  return refuseLength(head, bodyBytesMax);
}

/** Refuses a Content-Length over the limit (41300). Chunks are refused while they arrive. */
export function refuseLength({ framing }: RequestHead, bodyBytesMax: number): Refusal | undefined {
  return framing !== 'chunked' && framing > bodyBytesMax ? bodyTooLarge(bodyBytesMax) : undefined;
}

export function bodyTooLarge(bodyBytesMax: number): Refusal {
  const most = numberText(bodyBytesMax);
  return new Refusal('bodyTooLarge', `The body is over the limit of ${most} bytes.`);
}

/** Takes one line: a comma between joined lines could be read as a part of a quoted string. */
export function isJsonInUtf8(contentTypes: readonly string[] | undefined): boolean {
  const [contentType = ''] = contentTypes ?? [];
  return (
    contentTypes?.length === 1 &&
    (contentType === 'application/json' || jsonInUtf8.test(contentType))
  );
}

const notJson = new Refusal('mediaTypeUnsupported');
const compressed = new Refusal(
  'mediaTypeUnsupported',
  'The body must not be compressed: send it without the header `Content-Encoding`.',
);

const token = `${tokenCharacter}+`;
const parameter = `${token}=(?:${token}|${quotedString})`;
const utf8 = '(?:utf-8|"\\\\?u\\\\?t\\\\?f\\\\?-\\\\?8")';

/** RFC 9110 §8.3.1, §5.6.6. Each charset must be UTF-8. Other parameters are ignored. */
const jsonInUtf8 = new RegExp(
  `^application/json(?:[ \\t]*;(?:[ \\t]*(?:charset=${utf8}|(?!charset=)${parameter}))?)*$`,
  'i',
);
