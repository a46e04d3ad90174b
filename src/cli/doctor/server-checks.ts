import { limits } from '../../limits.ts';
import type { DatabaseCondition } from '../../stores.ts';
import { error, type Finding, ok, warning } from './check.ts';
import { usualHttpThreads } from './machine-checks.ts';

/** postgresql.org/support/versioning */
const oldestMaintained = 15;

export function server({ server: { engine, version } }: DatabaseCondition): Finding {
  const figure = engine === 'Citus' ? `Citus on ${version}` : version;
  const major = Number(/^PostgreSQL ([0-9]+)/.exec(version)?.[1]);
  return major < oldestMaintained
    ? warning(`${figure}, which is no longer maintained`, `upgrade to ${oldestMaintained} or later`)
    : ok(figure);
}

export function durability({ server: { promise, mayTearPages } }: DatabaseCondition): Finding {
  if (promise.level === 'lost') {
    return error(
      promise.says,
      'switch it on; otherwise the service starts only with --accept-lost-commits',
    );
  }
  return mayTearPages
    ? warning(
        promise.says,
        'set full_page_writes to on, unless the file system writes pages atomically',
      )
    : ok(promise.says);
}

/** Connections of each HTTP thread and of the main thread. A search takes one more. */
const perThread = limits.postgres.batchesMax + 1;

export function connections({
  server: { connections: found },
}: DatabaseCondition): Finding | undefined {
  if (found === undefined) return undefined;
  const perNode = perThread * (usualHttpThreads() + 1) + 1;
  const figure = `${found.used} of ${found.max} are open; a node on a machine like this opens up to ${perNode}`;
  const remedy = 'raise max_connections of the server, or lower --http-threads';
  return found.max - found.used < perNode
    ? warning(`${figure}, which is more than are left`, remedy)
    : ok(figure);
}

export function role({
  role: { name, isSuperuser, missing, needless },
}: DatabaseCondition): Finding {
  const [lack] = missing;
  if (lack !== undefined) {
    const all = missing
      .filter(({ table }) => table === lack.table)
      .map(({ privilege }) => privilege);
    return error(
      `${name} lacks privileges that the service needs`,
      `GRANT ${all.join(', ')} ON ${lack.table} TO ${name}`,
    );
  }
  if (isSuperuser)
    return warning(
      `${name} is a superuser, and the service needs no superuser`,
      'make a role for the service with CREATE ROLE',
    );
  if (needless.length === 0) return ok(`${name} has the privileges that the service needs`);
  const all = needless.map(({ privilege }) => privilege).join(', ');
  return warning(
    `${name} may change or remove plants, which the service never does`,
    `REVOKE ${all} ON plants FROM ${name}`,
  );
}
