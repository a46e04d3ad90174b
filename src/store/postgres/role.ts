import type { Query } from './transaction.ts';

export interface RoleCondition {
  readonly name: string;
  readonly isSuperuser: boolean;
  /** Whether the role can make a store. */
  readonly mayCreate: boolean;
  /** Missing privileges; empty if there is no store yet. */
  readonly missing: readonly Privilege[];
  /** The service never uses them. The owner of the table has them anyway. */
  readonly needless: readonly Privilege[];
}

interface Privilege {
  readonly table: string;
  readonly privilege: string;
}

/** Privileges that the statements of this folder need. Locking a row needs UPDATE. */
const needed: Readonly<Record<string, readonly string[]>> = {
  plant_store: ['SELECT', 'UPDATE'],
  plants: ['SELECT', 'INSERT'],
  tokens: ['SELECT', 'INSERT', 'UPDATE'],
  sessions: ['SELECT', 'INSERT', 'DELETE'],
  backups: ['SELECT', 'INSERT', 'DELETE'],
  heartbeat: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
};

const needless: readonly Privilege[] = ['UPDATE', 'DELETE', 'TRUNCATE'].map((privilege) => ({
  table: 'plants',
  privilege,
}));

export async function roleCondition(query: Query): Promise<RoleCondition> {
  const { rows } = await query(`
    SELECT current_user::text, (SELECT rolsuper FROM pg_roles WHERE rolname = current_user),
      coalesce(has_schema_privilege(current_schema(), 'CREATE'), false)`);
  const [name, isSuperuser, mayCreate] = rows[0] as [string, boolean | null, boolean];
  const owners = await ownersOfTables(query);
  const all = Object.entries(needed).flatMap(([table, privileges]) =>
    privileges.map((privilege) => ({ table, privilege })),
  );
  const held = await heldOf(
    query,
    [...all, ...needless].filter(({ table }) => owners.has(table)),
  );
  const isHeld = ({ table, privilege }: Privilege) => held.has(`${privilege} ${table}`);
  return {
    name,
    isSuperuser: isSuperuser ?? false,
    mayCreate,
    missing: all.filter((wanted) => owners.has(wanted.table) && !isHeld(wanted)),
    needless: owners.get('plants') === name ? [] : needless.filter(isHeld),
  };
}

async function ownersOfTables(query: Query): Promise<ReadonlyMap<string, string>> {
  const { rows } = await query(
    'SELECT tablename::text, tableowner::text FROM pg_tables WHERE schemaname = current_schema()',
  );
  return new Map(rows.map(([table, owner]) => [table, owner]));
}

async function heldOf(
  query: Query,
  privileges: readonly Privilege[],
): Promise<ReadonlySet<string>> {
  const { rows } = await query(
    `SELECT privilege || ' ' || name FROM unnest($1::text[], $2::text[]) AS asked (name, privilege)
     WHERE has_table_privilege(name, privilege)`,
    [privileges.map(({ table }) => table), privileges.map(({ privilege }) => privilege)],
  );
  return new Set(rows.map(([text]) => text));
}
