/**
 * What a user would write instead for PostgreSQL: Fastify with a schema, a pool of 20 connections, one INSERT a request.
 * `node fastify-pg.ts URL [--prepared]`; the token comes in PLANT_STORE_TOKEN.
 */
import assert from 'node:assert/strict';
import Fastify from 'fastify';
import pg from 'pg';

interface NewPlant {
  id: number;
  name: string;
  tag?: string;
}

const [connectionString, flag] = process.argv.slice(2);
assert(connectionString, 'the first argument is the URL of the database');

const pool = new pg.Pool({ connectionString, max: 20 });
await pool.query('CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)');
const text = 'INSERT INTO plants VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING RETURNING id';
// A statement that has a name is prepared once a connection; one that has none is what most would write.
const insert = flag === '--prepared' ? { name: 'insert', text } : { text };

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
app.post<{ Body: NewPlant }>('/plants', { schema }, async (request, reply) => {
  const { id, name, tag } = request.body;
  const { rowCount } = await pool.query({ ...insert, values: [id, name, tag ?? null] });
  if (rowCount === 0) return reply.code(409).send();
  return { name, tag };
});
app.addHook('onClose', async () => pool.end());

console.log(await app.listen({ host: '127.0.0.1', port: 0 }));
process.once('SIGTERM', () => app.close());
