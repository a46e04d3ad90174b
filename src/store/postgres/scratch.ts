import { randomBytes } from 'node:crypto';
import { limits } from '../../limits.ts';
import { type StoreError, StoreOpenError } from '../errors.ts';
import type { PostgresLocation } from '../location.ts';
import { INSUFFICIENT_PRIVILEGE, sqlState } from './errors.ts';
import { runOnce } from './pool.ts';

/** Makes a schema that no other program uses. @throws StoreOpenError, StoreError */
export async function makeScratchSchema(location: PostgresLocation) {
  const { scratchMs } = limits.postgres;
  const name = `plant_store_scratch_${randomBytes(8).toString('hex')}`;
  const options = `${location.options ?? ''} -csearch_path=${name}`.trim();
  const create = `CREATE SCHEMA ${name}`;
  await runOnce(location, scratchMs, (query) => query(create)).catch((error: StoreError) => {
    if (sqlState(error.cause) !== INSUFFICIENT_PRIVILEGE) throw error;
    const { user, database } = location;
    throw new StoreOpenError(
      `${user} may make no schema in the database, for a scratch store; ` +
        `GRANT CREATE ON DATABASE "${database}" TO "${user}"`,
    );
  });
  // Of two parameters with one name, the last counts.
  const separator = location.url.includes('?') ? '&' : '?';
  const url = `${location.url}${separator}options=${encodeURIComponent(options)}`;
  return {
    name,
    location: { ...location, options, url },
    /** Drops the schema and its content. @throws StoreError */
    async drop(): Promise<void> {
      await runOnce(location, scratchMs, (query) => query(`DROP SCHEMA ${name} CASCADE`));
    },
  };
}
