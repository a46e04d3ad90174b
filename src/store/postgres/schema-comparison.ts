import type { Query } from './transaction.ts';

/**
 * Compares the tables that are there with those of a store, and names the first that differs.
 * Further columns that need no value are no difference.
 *
 * @param tables the definitions of columns and primary key, as CREATE TABLE takes them
 * @param indexes the unique indexes of a store
 * @param isWhole whether all tables have to be there
 */
export async function schemaDifference(
  query: Query,
  tables: Readonly<Record<string, string>>,
  indexes: readonly string[],
  isWhole: boolean,
): Promise<{ readonly table: string; readonly says: string } | undefined> {
  const { rows } = await query(definitionsThere, [Object.keys(tables), indexes]);
  for (const [table, definitions] of Object.entries(tables)) {
    const there = rows.filter(([of]) => of === table);
    const wanted = definitions.split(/,\s+/);
    const isOwn = (column: string) => wanted.some((one) => nameIn(one) === nameIn(column));
    const missing = wanted.filter((one) => !there.some(([, definition]) => definition === one));
    const further = there
      .filter(([, definition, isHarmless]) => !isHarmless || isOwn(definition))
      .map(([, definition]) => definition)
      .filter((definition) => !wanted.includes(definition));
    const says = [
      ...(missing.length > 0 ? [`it lacks ${missing.join(', ')}`] : []),
      ...(further.length > 0 ? [`it has ${further.join(', ')}`] : []),
    ].join(', and ');
    if ((isWhole || there.length > 0) && says !== '') return { table, says };
  }
  return undefined;
}

function nameIn(definition: string): string | undefined {
  return definition.split(' ')[0];
}

/**
 * The tables of the schema in which the store is, or would be made. A setting puts names of types
 * in quotes.
 */
const definitionsThere = `
  WITH there AS (
    SELECT oid, relname::text AS name, relpersistence, relkind FROM pg_class
    WHERE relname = ANY($1::text[]) AND relnamespace = coalesce(
      (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('plant_store')),
      (SELECT oid FROM pg_namespace WHERE nspname = current_schema()))
      AND relkind NOT IN ('i', 'I'))
  SELECT name, attname || ' ' || replace(format_type(atttypid, atttypmod), '"', '')
      || CASE WHEN attidentity = 'a' OR attgenerated <> '' THEN ' GENERATED ALWAYS' ELSE '' END
      || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END,
    NOT attnotnull OR atthasdef OR attidentity <> ''
  FROM there JOIN pg_attribute ON attrelid = oid WHERE attnum > 0 AND NOT attisdropped
  UNION ALL
  SELECT name, CASE WHEN indisprimary AND indimmediate THEN 'PRIMARY KEY' ELSE 'a unique index' END
      || ' (' || (SELECT string_agg(coalesce(attname, 'an expression'), ', ' ORDER BY place)
        FROM unnest(indkey) WITH ORDINALITY AS part (number, place)
        LEFT JOIN pg_attribute ON attrelid = indrelid AND attnum = number) || ')',
    (SELECT relname = ANY($2::text[]) FROM pg_class WHERE pg_class.oid = indexrelid)
  FROM there JOIN pg_index ON indrelid = oid WHERE indisunique OR indisexclusion
  UNION ALL
  SELECT name, 'the property UNLOGGED', false FROM there WHERE relpersistence = 'u'
  UNION ALL
  SELECT name, 'a namesake in a schema that comes first', false
  FROM there WHERE to_regclass(name) <> oid
  UNION ALL
  SELECT name, format('the rows of another table, until ALTER TABLE %s NO INHERIT %s',
      (pg_identify_object('pg_class'::regclass, inhrelid, 0)).identity,
      (pg_identify_object('pg_class'::regclass, oid, 0)).identity), false
  FROM there JOIN pg_inherits ON inhparent = oid WHERE relkind = 'r'`;
