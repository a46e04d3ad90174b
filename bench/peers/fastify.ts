/**
 * Fastify with a schema and a bearer check, as a user would write it, and one commit a request.
 * `PLANT_STORE_TOKEN=TOKEN node fastify.ts FULL|NORMAL|postgres STORE`
 */
import assert from 'node:assert/strict';
import Fastify, { type FastifyReply } from 'fastify';

interface NewPlant {
  id: number;
  name: string;
  tag?: string;
}

interface Plants {
  /** Stores the plant, and returns the reply. */
  create(plant: NewPlant, reply: FastifyReply): unknown;
  close(): unknown;
}

const [kind, store] = process.argv.slice(2);
assert(kind && store, 'the arguments are FULL, NORMAL or postgres, and the store');
const plants = kind === 'postgres' ? await openPostgres(store) : await openSqlite(store, kind);

const app = Fastify();
const authorization = `Bearer ${process.env['PLANT_STORE_TOKEN']}`;
app.addHook('onRequest', async (request, reply) => {
  if (request.headers.authorization !== authorization) return reply.code(401).send();
});
const plantFields = { name: { type: 'string' }, tag: { type: 'string' } };
const body = {
  type: 'object',
  required: ['id', 'name'],
  properties: { id: { type: 'integer' }, ...plantFields },
};
const schema = { body, response: { 200: { type: 'object', properties: plantFields } } };
app.post<{ Body: NewPlant }>('/plants', { schema }, async (request, reply) =>
  plants.create(request.body, reply),
);
app.addHook('onClose', async () => plants.close());
console.log(await app.listen({ host: '127.0.0.1', port: 0 }));
process.once('SIGTERM', () => app.close());

async function openSqlite(path: string, synchronous: string): Promise<Plants> {
  const { default: Database } = await import('better-sqlite3');
  const store = new Database(path);
  store.pragma('journal_mode = WAL');
  store.pragma(`synchronous = ${synchronous}`);
  store.exec('CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT');
  const insert = store.prepare('INSERT INTO plants VALUES (?, ?, ?)');
  return {
    create({ id, name, tag }) {
      insert.run(id, name, tag ?? null);
      return { name, tag };
    },
    close: () => store.close(),
  };
}

/** Over a pool of 20 connections. */
async function openPostgres(connectionString: string): Promise<Plants> {
  const { default: pg } = await import('pg');
  const pool = new pg.Pool({ connectionString, max: 20 });
  await pool.query('CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)');
  const text = 'INSERT INTO plants VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING RETURNING id';
  return {
    async create({ id, name, tag }, reply) {
      const { rowCount } = await pool.query(text, [id, name, tag ?? null]);
      return rowCount === 0 ? reply.code(409).send() : { name, tag };
    },
    close: () => pool.end(),
  };
}
