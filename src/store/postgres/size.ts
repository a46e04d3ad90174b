import type { Query } from './transaction.ts';

/** Bytes of plants and indexes, on all machines of Citus. */
export async function plantsBytes(query: Query): Promise<number> {
  const size = (await isDistributed(query))
    ? 'citus_total_relation_size'
    : 'pg_total_relation_size';
  return Number((await query(`SELECT ${size}('plants')`)).rows[0]?.[0]);
}

/** Whether the plants are distributed; undefined without Citus. */
export async function isDistributed(query: Query): Promise<boolean | undefined> {
  if (!query.isCitus) return undefined;
  const { rows } = await query(
    "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'plants'::regclass",
  );
  return rows.length > 0;
}
