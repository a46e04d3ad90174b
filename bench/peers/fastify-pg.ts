/**
 * What a user would write instead for PostgreSQL: Fastify with a schema, a pool of 20 connections,
 * one INSERT a request. `node fastify-pg.ts URL [--prepared]`; the token comes in
 * PLANT_STORE_TOKEN.
 */
import assert from 'node:assert/strict';
import pg from 'pg';
import { servePlants } from './fastify-plants.ts';

const [connectionString, flag] = process.argv.slice(2);
assert(connectionString, 'the first argument is the URL of the database');

const pool = new pg.Pool({ connectionString, max: 20 });
await pool.query('CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)');
const text = 'INSERT INTO plants VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING RETURNING id';
// A statement that has a name is prepared once a connection; one that has none is what most would
// write.
const insert = flag === '--prepared' ? { name: 'insert', text } : { text };

await servePlants({
  async create({ id, name, tag }, reply) {
    const { rowCount } = await pool.query({ ...insert, values: [id, name, tag ?? null] });
    if (rowCount === 0) return reply.code(409).send();
    return { name, tag };
  },
  close: () => pool.end(),
});
