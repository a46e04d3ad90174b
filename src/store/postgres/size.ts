import type { Query } from './transaction.ts';

/** Bytes of plants and indexes, on all machines of Citus; undefined if the engine does not tell. */
export async function plantsBytes(query: Query): Promise<number | undefined> {
  const { rows } = await query("SELECT to_regproc('pg_total_relation_size') IS NOT NULL");
  if (!rows[0]?.[0]) return undefined;
  const size = (await isDistributed(query))
    ? 'citus_total_relation_size'
    : 'pg_total_relation_size';
  const bytes = Number((await query(`SELECT ${size}('plants')`)).rows[0]?.[0]);
  // Even an empty table has an index page.
  return bytes > 0 ? bytes : undefined;
}

/** Whether the plants are distributed; undefined without Citus. */
export async function isDistributed(query: Query): Promise<boolean | undefined> {
  const isCitus = (await query("SELECT to_regclass('pg_dist_partition') IS NOT NULL")).rows[0]?.[0];
  if (!isCitus) return undefined;
  const { rows } = await query(
    "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'plants'::regclass",
  );
  return rows.length > 0;
}
