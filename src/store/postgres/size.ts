import type { Query } from './pool.ts';

/**
 * What the plants take with their indexes, in bytes; undefined where the engine does not tell. On
 * Citus, on all of its machines.
 */
export async function plantsBytes(query: Query): Promise<number | undefined> {
  const { rows } = await query("SELECT to_regproc('pg_total_relation_size') IS NOT NULL");
  if (!rows[0]?.[0]) return undefined;
  const size = (await isDistributed(query))
    ? 'citus_total_relation_size'
    : 'pg_total_relation_size';
  const bytes = Number((await query(`SELECT ${size}('plants')`)).rows[0]?.[0]);
  // An empty table has an index with a page at least.
  return bytes > 0 ? bytes : undefined;
}

/** Whether the plants are spread over several machines; undefined where there is no Citus. */
export async function isDistributed(query: Query): Promise<boolean | undefined> {
  const isCitus = (await query("SELECT to_regclass('pg_dist_partition') IS NOT NULL")).rows[0]?.[0];
  if (!isCitus) return undefined;
  const { rows } = await query(
    "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'plants'::regclass",
  );
  return rows.length > 0;
}
