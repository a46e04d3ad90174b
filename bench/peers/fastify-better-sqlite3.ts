/**
 * What a user would write instead: Fastify with a schema, better-sqlite3, one commit a request.
 * `node fastify-better-sqlite3.ts STORE_PATH FULL|NORMAL`; the token comes in PLANT_STORE_TOKEN.
 */
import assert from 'node:assert/strict';
import Database from 'better-sqlite3';
import Fastify from 'fastify';

interface NewPlant {
  id: number;
  name: string;
  tag?: string;
}

const [storePath, synchronous] = process.argv.slice(2);
assert(storePath, 'the first argument is the path of the store');
assert(synchronous === 'FULL' || synchronous === 'NORMAL', 'the second argument is FULL or NORMAL');

const store = new Database(storePath);
store.pragma('journal_mode = WAL');
store.pragma(`synchronous = ${synchronous}`);
store.exec('CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT');
const insert = store.prepare<[number, string, string | null]>('INSERT INTO plants VALUES (?, ?, ?)');

const plantFields = { name: { type: 'string' }, tag: { type: 'string' } };
const schema = {
  body: {
    type: 'object',
    required: ['id', 'name'],
    properties: { id: { type: 'integer' }, ...plantFields },
  },
  response: { 200: { type: 'object', properties: plantFields } },
};

const app = Fastify();
const authorization = `Bearer ${process.env['PLANT_STORE_TOKEN']}`;
app.addHook('onRequest', async (request, reply) => {
  if (request.headers.authorization !== authorization) return reply.code(401).send();
});
app.post<{ Body: NewPlant }>('/plants', { schema }, async (request) => {
  const { id, name, tag } = request.body;
  insert.run(id, name, tag ?? null);
  return { name, tag };
});
app.addHook('onClose', async () => store.close());

console.log(await app.listen({ host: '127.0.0.1', port: 0 }));
process.once('SIGTERM', () => app.close());
