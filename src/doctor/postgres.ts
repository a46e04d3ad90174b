import { isThisMachine } from '../hosts.ts';
import { limits } from '../limits.ts';
import type { Finding, NamedFinding } from '../ops/contract.ts';
import { numberText } from '../quantity-text.ts';
import { splitConnections } from '../serve/capacity.ts';
import { type DatabaseCondition, engineOf, postgresEngine } from '../store/engines.ts';
import { StoreError, StoreOpenError } from '../store/errors.ts';
import type { PostgresLocation } from '../store/location.ts';
import { descriptors, usualHttpThreads } from './machine-checks.ts';
import { error, named, ok, storeText, user, warning } from './start.ts';

type Reached = DatabaseCondition & { readonly location: PostgresLocation };

/** Does every check, and leaves nothing in the database. */
export async function checkPostgres(
  location: PostgresLocation,
  userId: number | undefined,
): Promise<NamedFinding[]> {
  const ofMachine = { user: user(userId), descriptors: descriptors() };
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
      durability: durability(found),
      connections: connections(found),
      role: role(found),
      schema: schema(found),
      'test write': testWrite(found),
    };
  } catch (failure) {
    if (!(failure instanceof StoreError || failure instanceof StoreOpenError)) throw failure;
    const { cause } = failure;
    // An error of the system: no server has answered.
    const isSilent = cause instanceof AggregateError || 'syscall' in Object(cause);
    const runs = isSilent ? 'check whether the server runs, and ' : '';
    return { connection: error(failure.message, `${runs}check --store and the PG* variables`) };
  }
}

/** The times of plants and the expiry of tokens follow the clock of the node. */
function databaseClock({ server: { aheadMs } }: DatabaseCondition): Finding {
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  const figure = `${seconds} s ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine's`;
  if (Math.abs(aheadMs) <= limits.cli.databaseClockApartMs) return ok(figure);
  return warning(
    figure,
    'set both clocks, preferably by a time server: a plant gets the time of its node',
  );
}

function schema({ location, store }: Reached): Finding {
  // The message names the way out.
  if (store instanceof StoreOpenError) return { level: 'error', says: store.message };
  if (store instanceof StoreError) return error(store.message, 'check the role and the tables');
  if (store === undefined)
    return ok(`there is no store yet; ${engineOf(location).command('serve')} makes the store`);
  const faults = store.lax.join(', ');
  const says = `workers are away, or lack fsync=on and synchronous_commit=on: ${faults}`;
  if (faults) return error(says, 'start them, or set both there');
  const found = `${storeText(store.identity)}, schema ${store.schemaVersion}`;
  if (store.isDistributed !== false) return ok(found);
  return warning(
    `${found}, whose plants are all on the coordinator`,
    "spread the plants with SELECT create_distributed_table('plants', 'id')",
  );
}

function testWrite({ store, role: { grants } }: DatabaseCondition): Finding | undefined {
  if (store === undefined || store instanceof Error || grants.length > 0) return undefined;
  const { fault, refused, warnings } = store.written ?? { warnings: [] };
  const found = fault ?? refused;
  if (found) return error(found.says, found.remedy);
  const refusals = 'clients that send such plants get an error, and nothing else is harmed';
  if (warnings.length > 0) return warning(warnings.join('; '), refusals);
  return ok('plants come back as they were sent, and were rolled back');
}

function connection({
  server: { host, port, pooler, connectMs, roundTripMs, version },
}: DatabaseCondition): Finding {
  const [connect, trip] = [connectMs.toFixed(1), roundTripMs.toFixed(2)];
  const at = `${pooler === undefined ? 'at' : `through ${pooler} at`} ${host}:${port}`;
  return ok(`to ${version} ${at} in ${connect} ms; a round trip takes ${trip} ms`);
}

function encryption({ location: { tls }, server: { host, isEncrypted } }: Reached): Finding {
  const isEncryptedAnyway = /^(require|verify-)/.test(tls.sslmode);
  const mode = `sslmode=${tls.sslmode}`;
  if (host.startsWith('/') || isThisMachine(host))
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

function durability({
  server: { durability, mayTearPages, hasStandby },
}: DatabaseCondition): Finding {
  if (durability.level === 'lost') {
    return error(
      durability.says,
      'switch it on; otherwise the service starts only with --accept-lost-commits',
    );
  }
  if (durability.level === 'kept' && !hasStandby)
    return warning(durability.says, 'no standby is connected: until one is, creates get 503');
  return mayTearPages
    ? warning(
        durability.says,
        'set full_page_writes to on, unless the file system writes pages atomically',
      )
    : ok(durability.says);
}

function connections({
  server: { connectionsOpen: open, connectionsMax: max },
}: DatabaseCondition): Finding {
  const perNode = splitConnections('auto', usualHttpThreads()).all;
  const figure =
    `${numberText(open)} of ${numberText(max)} are open; a node on a machine like this opens ` +
    `up to ${perNode}`;
  const remedy =
    'raise max_connections of the server or CONNECTION LIMIT of the role and the database, or ' +
    'lower --database-connections of the nodes';
  // Of the main thread, and of one HTTP thread.
  if (max < 2) return error(`${figure}, and needs 2`, remedy);
  return max - open < perNode
    ? warning(`${figure}, which is more than are left`, remedy)
    : ok(figure);
}

function role({ role: { name, isSuperuser, grants } }: DatabaseCondition): Finding {
  if (grants.length > 0)
    return error(`${name} lacks privileges that the service needs`, grants.join('; '));
  if (isSuperuser)
    return warning(
      `${name} is a superuser, and the service needs no superuser`,
      'make a role for the service with CREATE ROLE',
    );
  return ok(`${name} has the privileges that the service needs`);
}
