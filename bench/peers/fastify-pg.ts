/**
 * Fastify with a schema and pg, one INSERT a request over a pool of 20 connections.
 * `PLANT_STORE_TOKEN=TOKEN node fastify-pg.ts URL`
 */
import assert from 'node:assert/strict';
import pg from 'pg';
import { servePlants } from './fastify-plants.ts';

const [connectionString] = process.argv.slice(2);
assert(connectionString, 'the first argument is the URL of the database');

const pool = new pg.Pool({ connectionString, max: 20 });
await pool.query('CREATE TABLE plants (id bigint PRIMARY KEY, name text NOT NULL, tag text)');
const text = 'INSERT INTO plants VALUES ($1, $2, $3) ON CONFLICT (id) DO NOTHING RETURNING id';

await servePlants({
  async create({ id, name, tag }, reply) {
    const { rowCount } = await pool.query(text, [id, name, tag ?? null]);
    if (rowCount === 0) return reply.code(409).send();
    return { name, tag };
  },
  close: () => pool.end(),
});
