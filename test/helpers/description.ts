import assert from 'node:assert/strict';
import { openApiDocument } from '../../src/contract/openapi.ts';
import { limits } from '../../src/limits.ts';
import { schemaCheck } from '../contract/schema-check.ts';
import type { RawReply } from './raw.ts';

const document = openApiDocument('', limits.http.bodyBytesMax);
const described = document.paths['/plants'].post.responses as Readonly<
  Record<string, { readonly headers: object; readonly content: object }>
>;
const isPlant = schemaCheck(document, '#/components/schemas/Plant');
const isError = schemaCheck(document, '#/components/schemas/Error');

/** The status is described, the body is of its type and schema, and all its header fields came. */
export function assertDescribed({ status, headers, body }: RawReply): void {
  const { headers: fields, content } = described[status] ?? assert.fail(`${status} is unknown`);
  assert.deepEqual([headers.get('content-type')], Object.keys(content));
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.deepEqual((status === 200 ? isPlant : isError)(JSON.parse(body)), []);
  for (const name of Object.keys(fields))
    assert(headers.has(name.toLowerCase()), `${status}: ${name}`);
}
