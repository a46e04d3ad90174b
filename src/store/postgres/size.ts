import type { Query } from './transaction.ts';

/** Bytes of plants and indexes, in all partitions, and on all machines of Citus. */
export async function plantsBytes(query: Query): Promise<number> {
  const size = (await isDistributed(query))
    ? 'citus_total_relation_size'
    : 'pg_total_relation_size';
  const ofPartitions = `SELECT sum(${size}(relid)) FROM pg_partition_tree('plants') WHERE level > 0`;
  const { rows } = await query(`SELECT ${size}('plants') + coalesce((${ofPartitions}), 0)`);
  return Number(rows[0]?.[0]);
}

export async function isDistributed(query: Query): Promise<boolean | undefined> {
  if (!query.isCitus) return undefined;
  const { rows } = await query(
    "SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'plants'::regclass",
  );
  return rows.length > 0;
}
