import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  create,
  oneThread,
  type RunningServer,
  type ServerWithStore,
  startServer,
  startServerOnNewStore,
  token,
} from '../helpers/program.ts';
import {
  assertRefusal,
  connectRaw,
  type RawReply,
  rawRequest,
  sendAndWaitUntilRead,
} from '../helpers/raw.ts';
import { runHere } from '../helpers/run-here.ts';
import { shareServer } from '../helpers/shared-server.ts';
import { lockStore, storedPlants } from '../helpers/store-file.ts';

const sharedServer = await shareServer();

async function send(t: TestContext, { port }: RunningServer, bytes: Uint8Array): Promise<RawReply> {
  const connection = await connectRaw(t, port);
  connection.send(bytes);
  return connection.reply();
}

/** Asserts a reply to a create to the letter. */
function assertPlant(reply: RawReply, body: string): void {
  assert.equal(reply.status, 200, reply.body);
  assert.equal(reply.body, body);
  assert.equal(reply.headers.get('content-type'), 'application/json');
  assert.match(reply.headers.get('x-request-id') ?? '', /./);
}

test('a new plant is answered with its name and tag, and is in the store', async () => {
  const { store, plantsUrl } = sharedServer();

  const reply = await create(plantsUrl, '{"id":9223372036854775807,"name":"Alder","tag":"Alnus"}');

  assert.equal(reply.status, 200);
  assert.equal(reply.headers.get('Content-Type'), 'application/json');
  assert.equal(await reply.text(), '{"name":"Alder","tag":"Alnus"}');
  const { stdout } = await runHere([
    'plants',
    'get',
    '9223372036854775807',
    '--store',
    `sqlite:${store}`,
  ]);
  assert.equal(stdout, '{"id":9223372036854775807,"name":"Alder","tag":"Alnus"}\n');
});

test('the reply has the id that was stored, also of a retry, and a refusal has none', async () => {
  const { plantsUrl } = sharedServer();
  const ids = {
    '9007199254740993': '9007199254740993',
    '-9223372036854775808': undefined,
    '1e3': '1000',
  };
  for (const [sent, stored = sent] of Object.entries(ids))
    for (const attempt of ['first', 'retry']) {
      const reply = await create(plantsUrl, `{"id":${sent},"name":"Alder"}`);
      assert.equal(reply.headers.get('Plant-Id'), stored, attempt);
    }
  const conflict = await create(plantsUrl, '{"id":1000,"name":"Yew"}');
  assert.equal(conflict.status, 400);
  assert.equal(conflict.headers.get('Plant-Id'), null);
});

test('a plant without a tag is answered without one, and one with an empty tag with an empty one', async (t) => {
  const server = sharedServer();

  assertPlant(await send(t, server, rawRequest('{"id":1,"name":"Alder"}')), '{"name":"Alder"}');
  assertPlant(
    await send(t, server, rawRequest('{"id":2,"name":"Alder","tag":""}')),
    '{"name":"Alder","tag":""}',
  );
  assertPlant(
    await send(t, server, rawRequest('{"id":3,"name":"","tag":""}')),
    '{"name":"","tag":""}',
  );

  assert.deepEqual(storedPlants(server.store), [
    [1n, 'Alder', null],
    [2n, 'Alder', ''],
    [3n, '', ''],
  ]);
});

test('a retried create is answered like the first, also after a restart, and stores nothing more', async (t) => {
  const first = await startServerOnNewStore(t, ...oneThread);
  const body = rawRequest('{"id":5,"name":"Alder","tag":"Alnus"}');
  const sameOtherwiseSpelt = rawRequest(
    '{ "tag": "\\u0041lnus", "more": [1], "name": "Alder", "id": 5.0 }',
  );
  assertPlant(await send(t, first, body), '{"name":"Alder","tag":"Alnus"}');
  assertPlant(await send(t, first, body), '{"name":"Alder","tag":"Alnus"}');
  assert.equal(await first.stop(), 0);

  const second = await startServer(t, first.store, oneThread);
  assertPlant(await send(t, second, body), '{"name":"Alder","tag":"Alnus"}');
  assertPlant(await send(t, second, sameOtherwiseSpelt), '{"name":"Alder","tag":"Alnus"}');

  assert.deepEqual(storedPlants(first.store), [[5n, 'Alder', 'Alnus']]);
});

test('an id that belongs to another plant is refused: no tag, an empty one and another one are all different', async (t) => {
  const server = sharedServer();
  const forms = [
    '"name":"Alder"',
    '"name":"Alder","tag":""',
    '"name":"Alder","tag":"Alnus"',
    '"name":"Alder","tag":"alnus"',
    '"name":"Alder "',
  ];
  for (const [id, form] of forms.entries()) {
    assert.equal((await send(t, server, rawRequest(`{"id":${id},${form}}`))).status, 200);
  }
  const before = storedPlants(server.store);

  for (const id of forms.keys()) {
    for (const [other, form] of forms.entries()) {
      const reply = await send(t, server, rawRequest(`{"id":${id},${form}}`));
      if (other === id) assertPlant(reply, `{${form}}`);
      else assertRefusal(reply, 'idTaken');
    }
  }

  assert.deepEqual(storedPlants(server.store), before);
});

/**
 * Brings the requests, each on a connection of its own, into one transaction, and returns their
 * replies.
 */
async function createdTogether(
  t: TestContext,
  server: ServerWithStore,
  requests: readonly Uint8Array[],
): Promise<RawReply[]> {
  const lock = lockStore(t, server.store);
  const connections = [];
  // While the first plant waits for the lock in a transaction of its own, those after it gather for
  // the next one.
  for (const request of [rawRequest('{"id":0,"name":"first"}'), ...requests]) {
    const connection = await connectRaw(t, server.port);
    await sendAndWaitUntilRead(connection, request);
    connections.push(connection);
  }
  lock.release();
  const [, ...replies] = await Promise.all(connections.map((connection) => connection.reply()));
  return replies;
}

test('of two different plants with one id that are sent at once, one is stored and the other refused', async (t) => {
  const server = sharedServer();
  const names = ['Alder', 'Birch'];

  const replies = await createdTogether(
    t,
    server,
    names.map((name) => rawRequest(`{"id":7,"name":"${name}"}`)),
  );

  // Requests on two connections come in no order, so either may be the first.
  const first = replies.findIndex(({ status }) => status === 200);
  assertPlant(replies[first] as RawReply, `{"name":"${names[first]}"}`);
  assertRefusal(replies[1 - first] as RawReply, 'idTaken');
  assert.deepEqual(storedPlants(server.store).slice(1), [[7n, names[first], null]]);
});

test('the same plant sent twice at once is answered 200 both times, and stored once', async (t) => {
  const server = sharedServer();
  const body = rawRequest('{"id":7,"name":"Alder"}');

  const replies = await createdTogether(t, server, [body, body]);

  assert.equal(replies.length, 2);
  for (const reply of replies) assertPlant(reply, '{"name":"Alder"}');
  assert.deepEqual(storedPlants(server.store).slice(1), [[7n, 'Alder', null]]);
});

test('one id three times in one packet on one connection gets three replies in order', async (t) => {
  const server = sharedServer();
  const connection = await connectRaw(t, server.port);

  connection.send(
    ...['{"id":7,"name":"Alder"}', '{"id":7,"name":"Birch"}', '{"id":7,"name":"Alder"}'].map(
      (body) => rawRequest(body),
    ),
  );

  assertPlant(await connection.reply(), '{"name":"Alder"}');
  assertRefusal(await connection.reply(), 'idTaken');
  assertPlant(await connection.reply(), '{"name":"Alder"}');
  assert.deepEqual(storedPlants(server.store), [[7n, 'Alder', null]]);
});

test('an id is kept exactly, however it is spelt:', async (t) => {
  const server = sharedServer();
  const ids = [
    ['9223372036854775807', '9223372036854775807'],
    ['-9223372036854775808', '-9223372036854775808'],
    ['9007199254740991', '9007199254740991'],
    ['9007199254740992', '9007199254740992'],
    ['9007199254740993', '9007199254740993'],
    ['-9007199254740993', '-9007199254740993'],
    ['9223372036854775806.000', '9223372036854775806'],
    ['922337203685477580.5e1', '9223372036854775805'],
    ['1.0', '1'],
    ['1e3', '1000'],
    ['12E+2', '1200'],
    ['1700e-2', '17'],
    ['-0', '0'],
    ['-1', '-1'],
  ] as const;
  for (const [literal, digits] of ids) {
    await t.test(`${literal} is ${digits}`, async (t) => {
      const reply = await send(
        t,
        server,
        rawRequest(`{"id":${literal},"name":"sent as ${literal}"}`),
      );

      assertPlant(reply, `{"name":"sent as ${literal}"}`);
    });
  }

  const { stdout } = await runHere(['plants', 'list', '--store', `sqlite:${server.store}`]);
  assert.deepEqual(
    stdout.trimEnd().split('\n').toSorted(),
    ids.map(([literal, digits]) => `{"id":${digits},"name":"sent as ${literal}"}`).toSorted(),
  );
});

test('a name and a tag come back, and are kept, as they were sent:', async (t) => {
  const server = sharedServer();
  const texts: Record<string, string> = {
    'composed letters (NFC)': 'caf\u00e9',
    'decomposed letters (NFD)': 'cafe\u0301',
    'emoji of several code points': '👩🏽‍🌾🌱',
    'spaces on both sides': '  Alder\u00a0\u3000 ',
    'line ends and tabs': '\r\nAl\nder\t\u2028\u2029',
    'a byte order mark inside': 'Al\uFEFFder\uFEFF',
    'a byte order mark at its start': '\uFEFFAlder',
    'control characters but U+0000': '\u0001\u001f\u007f\u0085',
    'quotes, slashes and backslashes': '"\\/\\u0041</script>',
    'right-to-left and combining marks': 'שָׁלוֹם\u202e',
    'noncharacters and the last code point': '\uffff\ufffe\u{10ffff}',
    'the replacement character': '\ufffd',
    SQL: "Robert'); DROP TABLE plants;--",
    'digits that a column might take for a number': '007.0',
    '500 KB': 'Alder🌱'.repeat(50_000),
  };
  for (const [id, [what, text]] of Object.entries(texts).entries()) {
    await t.test(what, async (t) => {
      const reply = await send(
        t,
        server,
        rawRequest(JSON.stringify({ id, name: text, tag: text })),
      );

      assert.equal(reply.status, 200, reply.body);
      assert.deepEqual(JSON.parse(reply.body), { name: text, tag: text });
    });
  }

  const { stdout } = await runHere(['plants', 'list', '--store', `sqlite:${server.store}`]);
  assert.deepEqual(
    stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
    Object.values(texts).map((text, id) => ({ id, name: text, tag: text })),
  );
});

test('a text that is spelt with escapes is the text that they spell', async (t) => {
  const server = sharedServer();
  const escaped = '{"id":1,"name":"\\ud83c\\udf31 \\u00e9\\/\\n","tag":"\\uD83C\\uDF31"}';

  assertPlant(await send(t, server, rawRequest(escaped)), '{"name":"🌱 é/\\n","tag":"🌱"}');

  assertPlant(
    await send(t, server, rawRequest('{"id":1,"name":"🌱 é/\\n","tag":"🌱"}')),
    '{"name":"🌱 é/\\n","tag":"🌱"}',
  );
});

test('members that a NewPlant does not have are ignored, whatever they hold, and are not answered', async (t) => {
  const server = sharedServer();
  const bodies = [
    '{"id":1,"name":"Alder","colour":"green","Tag":"x","__proto__":{"tag":"y"},"constructor":null}',
    `{"more":${'['.repeat(99)}${']'.repeat(99)},"id":2,"name":"Alder"}`,
    '{"id":3,"more":{"id":4,"id":5,"tag":1},"big":1e99999,"name":"Alder"}',
    ' \t\r\n{ "id" : 4 , "name" : "Alder" , "" : "" }\r\n',
  ];

  for (const body of bodies)
    assertPlant(await send(t, server, rawRequest(body)), '{"name":"Alder"}');

  assert.deepEqual(
    storedPlants(server.store),
    [1n, 2n, 3n, 4n].map((id) => [id, 'Alder', null]),
  );
});

test('a body of exactly the limit is taken, in one piece or in chunks', async (t) => {
  const server = await startServerOnNewStore(t, '--body-limit', '1024', ...oneThread);
  const body = (id: number) => `{"id":${id},"name":"${'x'.repeat(1024 - 20)}"}`.padEnd(1024);
  const chunked = { fields: { 'Content-Length': undefined, 'Transfer-Encoding': 'chunked' } };
  const half = (text: string) => `200\r\n${text}\r\n`;

  const whole = await send(t, server, rawRequest(body(1)));
  const pieces = await send(
    t,
    server,
    rawRequest(`${half(body(2).slice(0, 512))}${half(body(2).slice(512))}0\r\n\r\n`, chunked),
  );

  assert.equal(Buffer.byteLength(body(1)), 1024);
  assert.equal(whole.status, 200, whole.body);
  assert.equal(pieces.status, 200, pieces.body);
  assert.equal(storedPlants(server.store).length, 2);
});

test('a create is understood in every spelling that HTTP allows:', async (t) => {
  const server = sharedServer();
  const spellings: Record<string, Parameters<typeof rawRequest>[1]> = {
    'a query': { target: '/plants?dry-run=1&access_token=wrong' },
    'an empty query': { target: '/plants?' },
    'a target in absolute form': { target: 'http://example.com:1/plants?x' },
    'a target in absolute form, https, in capitals': { target: 'HTTPS://EXAMPLE.COM/plants' },
    'a scheme in small letters': { fields: { Authorization: `bearer ${token}` } },
    'a scheme in capitals and more spaces': { fields: { Authorization: `BEARER   ${token}  ` } },
    'a media type in capitals with a charset': {
      fields: { 'Content-Type': 'Application/JSON; Charset="UTF-8"' },
    },
    'a media type with an unknown parameter': {
      fields: { 'Content-Type': 'application/json;v=1' },
    },
    'an empty Host': { fields: { Host: '' } },
    'a Host that is an IPv6 address': { fields: { Host: '[::1]:8080' } },
    'HTTP/1.0 without Host': { version: 'HTTP/1.0', fields: { Host: undefined } },
    'an Accept that JSON does not meet': { fields: { Accept: 'text/html' } },
    'an offer to upgrade': { fields: { Connection: 'Upgrade', Upgrade: 'h2c' } },
  };
  for (const [id, [what, request]] of Object.entries(spellings).entries()) {
    await t.test(what, async (t) => {
      assertPlant(
        await send(t, server, rawRequest(`{"id":${id},"name":"Alder"}`, request)),
        '{"name":"Alder"}',
      );

      assert.equal(storedPlants(server.store).length, id + 1);
    });
  }
});

test('below a base path plants are created there and nowhere else, and the description says so', async (t) => {
  const server = await startServerOnNewStore(t, '--base-path', '/garden/v1/', ...oneThread);
  assert.equal(new URL(server.plantsUrl).pathname, '/garden/v1/plants');

  assertPlant(
    await send(t, server, rawRequest('{"id":1,"name":"Alder"}', { target: '/garden/v1/plants' })),
    '{"name":"Alder"}',
  );
  for (const target of [
    '/plants',
    '/garden/plants',
    '/garden/v1',
    '/garden/v1//plants',
    '/garden/v1/plants/',
  ]) {
    assertRefusal(
      await send(t, server, rawRequest('{"id":2,"name":"Alder"}', { target })),
      'pathUnknown',
    );
  }

  assert.equal(storedPlants(server.store).length, 1);
  const description = await fetch(server.plantsUrl.replace('plants', 'openapi.json'));
  assert.match(await description.text(), /"servers":\[\{"url":"\/garden\/v1",/);
});

test('the description is served to everybody, by GET and HEAD', async (t) => {
  const server = sharedServer();
  const connection = await connectRaw(t, server.port);
  const request = (method: string) =>
    rawRequest('', { method, target: '/openapi.json?v=1', fields: { Authorization: undefined } });

  connection.send(request('HEAD'));
  const head = await connection.reply('HEAD');
  connection.send(request('GET'));
  const get = await connection.reply();

  for (const reply of [head, get]) {
    assert.equal(reply.status, 200);
    assert.equal(reply.headers.get('content-type'), 'application/json');
  }
  assert.equal(head.headers.get('content-length'), get.headers.get('content-length'));
  const description = JSON.parse(get.body);
  assert.equal(description.openapi, '3.1.0');
  assert.equal(description.info.version, '1.0.0');
  assert.equal(description.info.license.identifier, 'MIT');
  assert.deepEqual(Object.keys(description.paths), ['/plants']);
  assert.deepEqual(Object.keys(description.paths['/plants']), ['post']);
});
