import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { headerFields } from '../../src/contract/openapi-responses.ts';
import { oneThread } from '../helpers/program.ts';
import { connectRaw, type RawReply, type RawRequest, rawRequest } from '../helpers/raw.ts';
import { shareServer } from '../helpers/shared-server.ts';

const app = 'https://app.example.org';
const phone = 'capacitor://localhost';
const spelledOtherwise = `HTTPS://App.example.org:443,${phone}`;
/** Otherwise only the first refusals of a second have lines. */
const flags = [...oneThread, '--log-level', 'debug'];
const off = await shareServer(flags);
const listed = await shareServer([...flags, '--cors-origins', spelledOtherwise]);
const all = await shareServer([...oneThread, '--cors-origins', '*']);

const listedOrigins = [app, phone];
const otherOrigins = [undefined, 'null', 'http://app.example.org', `${app}.evil`, [app, app]];
const origins = [...listedOrigins, ...otherOrigins];

async function send(
  t: TestContext,
  { port }: { readonly port: number },
  { fields, ...request }: RawRequest,
  origin?: string | readonly string[],
): Promise<RawReply> {
  const connection = await connectRaw(t, port);
  const all = { Origin: origin, ...fields };
  connection.send(rawRequest('{"id":1,"name":"Alder"}', { ...request, fields: all }));
  return connection.reply();
}

/** Answered by the operation, or by the engine once it has read the head. */
const requests: readonly (readonly [status: number, request: RawRequest])[] = [
  [200, {}],
  [200, { method: 'GET', target: '/openapi.json' }],
  [400, { fields: { 'Content-Length': '3' } }],
  [400, { fields: { Host: 'a b' } }],
  [401, { fields: { Authorization: undefined } }],
  [404, { target: '/plant' }],
  [405, { method: 'PUT' }],
  [413, { fields: { 'Content-Length': '1048577' } }],
  [415, { fields: { 'Content-Type': 'text/plain' } }],
  [417, { fields: { Expect: 'a miracle' } }],
];

test('a page can read every reply, errors included, if its origin is listed or all are', async (t) => {
  const exposed = Object.keys(headerFields).join(', ');
  for (const [index, [status, request]] of requests.entries())
    for (const origin of index === 0 ? origins : [app, 'null']) {
      const allowed = listedOrigins.find((one) => one === origin);
      for (const [server, expected] of [
        [off, [undefined, undefined, undefined]],
        [listed, [allowed, allowed && exposed, 'Origin']],
        [all, ['*', exposed, undefined]],
      ] as const) {
        const { status: answered, headers } = await send(t, server(), request, origin);
        assert.equal(answered, status);
        const fields = ['allow-origin', 'expose-headers', 'allow-credentials'].map((name) =>
          headers.get(`access-control-${name}`),
        );
        assert.deepEqual([...fields.slice(0, 2), headers.get('vary')], expected, `${origin}`);
        assert.equal(fields[2], undefined);
      }
    }
});

test('a preflight says what a page may send, and any other OPTIONS gets 405', async (t) => {
  const fields = { 'Access-Control-Request-Method': 'POST' };
  for (const [target, methods] of [
    ['/plants', 'POST'],
    ['/openapi.json', 'GET, HEAD'],
  ] as const) {
    const preflight = { method: 'OPTIONS', target, fields };
    for (const [server, origin] of [[listed, app] as const, [all, 'null'] as const]) {
      const { status, headers } = await send(t, server(), preflight, origin);
      assert.equal(status, 204);
      assert.equal(headers.get('access-control-allow-methods'), methods);
      const allowed = headers.get('access-control-allow-headers');
      assert.equal(allowed, 'Authorization, Content-Type, traceparent, *');
      assert.equal(headers.get('access-control-max-age'), '7200');
      for (const other of [{ target: '/docs' }, { fields: {} }])
        assert.equal((await send(t, server(), { ...preflight, ...other }, origin)).status, 405);
    }
    for (const origin of otherOrigins)
      assert.equal((await send(t, listed(), preflight, origin)).status, 405, `${origin}`);
    for (const server of [off, all]) assert.equal((await send(t, server(), preflight)).status, 405);
  }
});

test('the log names the origin of a refused preflight and --cors-origins, and the reply does not', async (t) => {
  const fields = { 'Access-Control-Request-Method': 'POST' };
  const origin = `https://${'a'.repeat(80)}.example`;
  const says = `"cause":"the origin \\"${origin.slice(0, 64)}…\\" is not in --cors-origins"`;
  for (const server of [off(), listed()])
    for (const [request, isNamed] of [
      [{ method: 'OPTIONS', fields }, true],
      [{ method: 'OPTIONS' }, false],
      [{ method: 'POST', target: '/docs', fields }, false],
      [{ method: 'PUT', fields }, false],
    ] as const) {
      const { status, body, headers } = await send(t, server, request, origin);
      assert.equal(status, 405);
      assert(!body.includes('origin'), body);
      const id = headers.get('x-request-id');
      const lineIn = (log: string) => log.split('\n').find((line) => line.includes(`${id}`)) ?? '';
      await server.logged((log) => lineIn(log).endsWith('}'));
      assert.equal(lineIn(server.stderr()).includes(says), isNamed);
    }
});
