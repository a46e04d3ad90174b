import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { schemaCheck } from '../contract/schema-check.ts';
import {
  oneThread,
  type RunningServer,
  startServer,
  storePath,
  token,
} from '../helpers/program.ts';
import { connectRaw, type RawReply, rawRequest } from '../helpers/raw.ts';

/** The parts of the published description that say what a reply looks like. */
interface Description {
  readonly paths: {
    readonly '/plants': {
      readonly post: { readonly responses: Readonly<Record<string, DescribedReply>> };
    };
  };
}
interface DescribedReply {
  readonly headers?: object;
  readonly content: Readonly<Record<string, { readonly schema: { readonly $ref: string } }>>;
}

const alder = '{"id":1,"name":"Alder","tag":"Alnus"}';

/**
 * Requests and the code of their replies; 0 is no error. Each is sent on a connection of its own,
 * in this order.
 */
const exchanges: readonly (readonly [what: string, request: Buffer, code: number])[] = [
  ['a plant', rawRequest(alder), 0],
  ['the same plant', rawRequest(alder), 0],
  ['a plant without a tag', rawRequest('{"id":2,"name":"Black alder"}'), 0],
  ['a plant with other members', rawRequest('{"id":3,"name":"","tag":"","colour":"green"}'), 0],
  ['the largest id', rawRequest('{"id":9223372036854775807,"name":"Gray alder"}'), 0],
  ['the smallest id', rawRequest('{"id":-9.223372036854775808e18,"name":"🌱"}'), 0],
  ['a create with a query', rawRequest(alder, { target: '/plants?access_token=x' }), 0],
  ['text that is not JSON', rawRequest('{'), 40000],
  ['bytes that are not UTF-8', rawRequest(Buffer.from([0xff])), 40000],
  ['no name', rawRequest('{"id":4}'), 40001],
  ['a tag that is null', rawRequest('{"id":4,"name":"Alder","tag":null}'), 40001],
  ['an id past int64', rawRequest('{"id":9223372036854775808,"name":"Alder"}'), 40002],
  ['U+0000', rawRequest('{"id":4,"name":"\\u0000"}'), 40003],
  ['an id that is taken', rawRequest('{"id":1,"name":"Alder"}'), 40004],
  [
    'an Authorization without a token',
    rawRequest(alder, { fields: { Authorization: 'Bearer' } }),
    40005,
  ],
  ['two lengths', rawRequest(alder, { fields: { 'Content-Length': ['1', '2'] } }), 40006],
  ['no Authorization', rawRequest(alder, { fields: { Authorization: undefined } }), 40100],
  ['an unknown token', rawRequest(alder, { fields: { Authorization: `Bearer ${token}x` } }), 40101],
  ['another path', rawRequest(alder, { target: '/plants/1' }), 40400],
  ['another method', rawRequest(alder, { method: 'PUT' }), 40500],
  ['a large body', rawRequest(`{"id":4,"name":"${'x'.repeat(2_000)}"}`), 41300],
  ['another type', rawRequest(alder, { fields: { 'Content-Type': 'text/plain' } }), 41500],
  ['another expectation', rawRequest(alder, { fields: { Expect: 'a miracle' } }), 41700],
  ['large header fields', rawRequest(alder, { fields: { 'X-Large': 'x'.repeat(20_000) } }), 43100],
  ['another version', rawRequest(alder, { version: 'HTTP/2.0' }), 50500],
];

test('every reply of the service is one that its published description has', async (t) => {
  const server = await startServer(t, await storePath(t), [...oneThread, '--body-limit', '1024']);
  const description = await publishedBy(server);
  const seen = new Set<number>();
  for (const [what, request, code] of exchanges) {
    const reply = await exchange(t, server, request);
    assertDescribed(description, reply, what);
    assert.equal(JSON.parse(reply.body).error ?? 0, code, `${what}: ${reply.body}`);
    seen.add(reply.status);
  }
  assert.deepEqual([...seen].sort(), [200, 400, 401, 404, 405, 413, 415, 417, 431, 505]);
});

async function publishedBy({ plantsUrl }: RunningServer): Promise<Description> {
  const reply = await fetch(plantsUrl.replace(/plants$/, 'openapi.json'));
  assert.equal(reply.status, 200);
  return (await reply.json()) as Description;
}

async function exchange(
  t: TestContext,
  { port }: RunningServer,
  request: Buffer,
): Promise<RawReply> {
  const connection = await connectRaw(t, port);
  connection.send(request);
  return connection.reply();
}

/**
 * The status is listed, the body is of its type and schema, and the header fields that it promises
 * are there.
 */
function assertDescribed(description: Description, reply: RawReply, what: string): void {
  const described = description.paths['/plants'].post.responses[reply.status];
  assert(described, `${what}: ${reply.status} is not in the description`);
  const type = reply.headers.get('content-type') ?? '';
  const schema = described.content[type]?.schema;
  assert(schema, `${what}: ${type} is not in the description of ${reply.status}`);
  assert.deepEqual(schemaCheck(description, schema.$ref)(JSON.parse(reply.body)), [], what);
  for (const name of Object.keys(described.headers ?? {}))
    assert(reply.headers.has(name.toLowerCase()), `${what}: ${name}`);
}
