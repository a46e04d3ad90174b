/**
 * Fastify with a schema and better-sqlite3, one commit a request.
 * `PLANT_STORE_TOKEN=TOKEN node fastify-better-sqlite3.ts STORE_PATH FULL|NORMAL`
 */
import assert from 'node:assert/strict';
import Database from 'better-sqlite3';
import { servePlants } from './fastify-plants.ts';

const [storePath, synchronous] = process.argv.slice(2);
assert(storePath, 'the first argument is the path of the store');
assert(synchronous === 'FULL' || synchronous === 'NORMAL', 'the second argument is FULL or NORMAL');

const store = new Database(storePath);
store.pragma('journal_mode = WAL');
store.pragma(`synchronous = ${synchronous}`);
store.exec('CREATE TABLE plants (id INTEGER PRIMARY KEY, name TEXT NOT NULL, tag TEXT) STRICT');
const insert = store.prepare<[number, string, string | null]>(
  'INSERT INTO plants VALUES (?, ?, ?)',
);

await servePlants({
  async create({ id, name, tag }) {
    insert.run(id, name, tag ?? null);
    return { name, tag };
  },
  close: () => store.close(),
});
