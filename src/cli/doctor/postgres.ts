import { limits } from '../../limits.ts';
import { StoreError, StoreOpenError } from '../../store/errors.ts';
import type { PostgresLocation } from '../../store/location.ts';
import { commandFor, type DatabaseCondition, postgresEngine } from '../../stores.ts';
import {
  type Check,
  error,
  type Finding,
  findings,
  type NamedFinding,
  ok,
  warning,
} from './check.ts';
import { clock, descriptors, type Machine, user } from './machine-checks.ts';
import { connection, encryption, standbys } from './network-checks.ts';
import { connections, durability, role, server } from './server-checks.ts';

const ofMachine: readonly Check<Machine>[] = [
  { name: 'user', find: user },
  { name: 'descriptors', find: descriptors },
  { name: 'clock', find: clock },
];

interface DatabaseSetting extends Machine, DatabaseCondition {
  readonly location: PostgresLocation;
}

const ofDatabase: readonly Check<DatabaseSetting>[] = [
  { name: 'connection', find: connection },
  { name: 'encryption', find: encryption },
  { name: 'database clock', find: databaseClock },
  { name: 'server', find: server },
  { name: 'durability', find: durability },
  { name: 'standbys', find: standbys },
  { name: 'connections', find: connections },
  { name: 'role', find: role },
  { name: 'schema', find: schema },
];

/** Does every check. Nothing is changed in the database. */
export async function checkPostgres(
  location: PostgresLocation,
  userId: number | undefined,
): Promise<NamedFinding[]> {
  const machine = { userId, nowMs: Date.now() };
  const first = findings(ofMachine, machine);
  try {
    return [
      ...first,
      ...findings(ofDatabase, {
        ...machine,
        location,
        ...(await postgresEngine(location).condition()),
      }),
    ];
  } catch (failure) {
    if (!(failure instanceof StoreError || failure instanceof StoreOpenError)) throw failure;
    return [
      ...first,
      {
        name: 'connection',
        ...error(
          failure.message,
          'check whether the server runs, and check --store and the PG* variables',
        ),
      },
    ];
  }
}

/** Does the checks of a start, which need no database. @returns warnings */
export function checkPostgresStart(userId: number | undefined): NamedFinding[] {
  return findings(
    ofMachine.filter(({ name }) => name !== 'descriptors'),
    { userId, nowMs: Date.now() },
  ).filter(({ level }) => level !== 'ok');
}

/** The times of plants and the expiry of tokens follow the clock of the node. */
function databaseClock({ server: { aheadMs } }: DatabaseSetting): Finding {
  const seconds = (Math.abs(aheadMs) / 1_000).toFixed(1);
  const figure = `${seconds} s ${aheadMs < 0 ? 'behind' : 'ahead of'} this machine's`;
  if (Math.abs(aheadMs) <= limits.cli.clockBehindMs) return ok(figure);
  return warning(
    figure,
    'set both clocks, preferably by a time server: a plant gets the time of its node',
  );
}

function schema({ location, store, role: { name, mayCreate } }: DatabaseSetting): Finding {
  if (store === undefined && !mayCreate) {
    return error(
      `there is no store yet, and ${name} may not make a store`,
      `GRANT CREATE ON SCHEMA … TO ${name}, or name an existing schema with ?options=-csearch_path%3DSCHEMA`,
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
