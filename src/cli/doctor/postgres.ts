import { limits } from '../../limits.ts';
import { sizeText } from '../../quantity-text.ts';
import { StoreError, StoreOpenError } from '../../store/errors.ts';
import type { PostgresLocation } from '../../store/location.ts';
import { commandFor, type DatabaseCondition, postgresEngine } from '../../stores.ts';
import { error, type Finding, type NamedFinding, named, ok, warning } from './check.ts';
import { clock, descriptors, user, usualHttpThreads } from './machine-checks.ts';

type Reached = DatabaseCondition & { readonly location: PostgresLocation };

/** Does every check. Nothing is changed in the database. */
export async function checkPostgres(
  location: PostgresLocation,
  userId: number | undefined,
): Promise<NamedFinding[]> {
  const ofMachine = { user: user(userId), descriptors: descriptors(), clock: clock() };
  return named({ ...ofMachine, ...(await databaseFindings(location)) });
}

async function databaseFindings(
  location: PostgresLocation,
): Promise<Readonly<Record<string, Finding | undefined>>> {
  try {
    const found = { location, ...(await postgresEngine(location).condition()) };
    return {
      connection: connection(found),
      encryption: encryption(found),
      'database clock': databaseClock(found),
      server: server(found),
      durability: durability(found),
      standbys: standbys(found),
      connections: connections(found),
      role: role(found),
      schema: schema(found),
    };
  } catch (failure) {
    if (!(failure instanceof StoreError || failure instanceof StoreOpenError)) throw failure;
    const remedy = 'check whether the server runs, and check --store and the PG* variables';
    return { connection: error(failure.message, remedy) };
  }
}

/** Does the checks of a start, which need no database. @returns warnings */
export function checkPostgresStart(userId: number | undefined): NamedFinding[] {
  return named({ user: user(userId), clock: clock() }).filter(({ level }) => level !== 'ok');
}

/** The times of plants and the expiry of tokens follow the clock of the node. */
function databaseClock({ server: { aheadMs } }: DatabaseCondition): Finding {
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  const figure = `${seconds} s ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine's`;
  if (Math.abs(aheadMs) <= limits.cli.clockBehindMs) return ok(figure);
  return warning(
    figure,
    'set both clocks, preferably by a time server: a plant gets the time of its node',
  );
}

function schema({ location, store, role: { name, mayCreate } }: Reached): Finding {
  if (store === undefined && !mayCreate) {
    return error(
      `there is no store yet, and ${name} may not make a store`,
      `GRANT CREATE ON SCHEMA … TO ${name}, or name an existing schema with ` +
        '?options=-csearch_path%3DSCHEMA',
    );
  }
  // The message names the way out.
  if (store instanceof StoreOpenError) return { level: 'error', says: store.message };
  if (store instanceof StoreError) return error(store.message, 'check the role and the tables');
  if (store === undefined)
    return ok(`there is no store yet; ${commandFor(location, 'serve')} makes the store`);
  if (store.isDistributed !== false) return ok(`a plant store, schema ${store.schemaVersion}`);
  return warning(
    `a plant store, schema ${store.schemaVersion}, whose plants are all on the coordinator`,
    "spread the plants with SELECT create_distributed_table('plants', 'id')",
  );
}

function connection({
  server: { host, port, connectMs, roundTripMs },
}: DatabaseCondition): Finding {
  const [connect, trip] = [connectMs.toFixed(1), roundTripMs.toFixed(2)];
  return ok(`to ${host}:${port} in ${connect} ms; a round trip takes ${trip} ms`);
}

const isOfThisMachine = /^(\/.*|localhost|127\..*|::1)$/;

function encryption({ location: { tls }, server: { host, isEncrypted } }: Reached): Finding {
  const isEncryptedAnyway = /^(require|verify-)/.test(tls.sslmode);
  const mode = `sslmode=${tls.sslmode}`;
  if (isOfThisMachine.test(host))
    return ok(`${isEncrypted ? 'TLS' : 'none'}; the server is on this machine`);
  if (!isEncrypted && !isEncryptedAnyway) {
    return warning(
      `none is known: plants and hashes of tokens cross the network unencrypted (${mode})`,
      remedy,
    );
  }
  const isVerified =
    tls.sslmode.startsWith('verify-') ||
    (tls.sslmode === 'require' && tls.sslrootcert !== undefined);
  return isVerified
    ? ok(`TLS, and the server has been verified (${mode})`)
    : warning(`TLS, but the server is not verified (${mode})`, remedy);
}

const remedy =
  'add sslmode=verify-full to the URL, and sslrootcert=FILE with the trusted authority';

/** Not for a server without standbys that asks for none. */
function standbys({
  server: { standbysDemanded, standbys: found },
}: DatabaseCondition): Finding | undefined {
  if (found.length === 0 && standbysDemanded === '') return undefined;
  if (found.length === 0) {
    return warning(
      'no standby is connected, and commits wait for ' +
        `synchronous_standby_names='${standbysDemanded}'`,
      'start the standbys: until then creates get 503',
    );
  }
  const texts = found.map(({ name, kind = 'connected', lagBytes }) => {
    // Only superusers and members of pg_monitor may see more than the names.
    const lag = lagBytes === undefined ? '' : `, ${sizeText(lagBytes)} behind`;
    return `${name} (${kind}${lag})`;
  });
  const figure = texts.join(', ');
  const isBehind = found.some(({ lagBytes = 0 }) => lagBytes > limits.postgres.standbyLagBytesHigh);
  return isBehind
    ? warning(
        figure,
        'a standby is far behind: a failover to it takes long, or loses plants if it is async',
      )
    : ok(figure);
}

/** postgresql.org/support/versioning */
const oldestMaintained = 15;

function server({ server: { engine, version } }: DatabaseCondition): Finding {
  const figure = engine === 'Citus' ? `Citus on ${version}` : version;
  const major = Number(/^PostgreSQL ([0-9]+)/.exec(version)?.[1]);
  return major < oldestMaintained
    ? warning(`${figure}, which is no longer maintained`, `upgrade to ${oldestMaintained} or later`)
    : ok(figure);
}

function durability({ server: { promise, mayTearPages } }: DatabaseCondition): Finding {
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

function connections({ server: { connections: found } }: DatabaseCondition): Finding | undefined {
  if (found === undefined) return undefined;
  const perNode = perThread * (usualHttpThreads() + 1) + 1;
  const figure =
    `${found.used} of ${found.max} are open; a node on a machine like this ` +
    `opens up to ${perNode}`;
  const remedy = 'raise max_connections of the server, or lower --http-threads';
  return found.max - found.used < perNode
    ? warning(`${figure}, which is more than are left`, remedy)
    : ok(figure);
}

function role({ role: { name, isSuperuser, missing, needless } }: DatabaseCondition): Finding {
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
