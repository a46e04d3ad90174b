import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { joinPostgresStore, openPostgresStore } from '../../src/store/postgres/store.ts';
import { nameOfDatabase, startPostgres } from '../helpers/postgres.ts';
import { locationOf, withinMs } from '../helpers/postgres-connection.ts';

const server = await startPostgres({ after });
const options = { callMs: withinMs, acceptsLostCommits: false, mayMake: true };

/** The URL of a new database, for a role that may open so many connections. */
async function databaseOf(role: string, connectionsMax: number): Promise<URL> {
  const url = new URL(await server.makeDatabase());
  await server.query(`CREATE ROLE ${role} LOGIN CONNECTION LIMIT ${connectionsMax};
    ALTER DATABASE ${nameOfDatabase(`${url}`)} OWNER TO ${role}`);
  url.username = role;
  return url;
}

for (const connectionsMax of [3, 5])
  test(`three threads create plants with the ${connectionsMax} connections that their role may open`, async (t) => {
    const role = `limited${connectionsMax}`;
    const location = locationOf(`${await databaseOf(role, connectionsMax)}`);
    await using store = await openPostgresStore(location, options);
    const others = [1, 2].map(() => joinPostgresStore(location, store.share(), options));
    t.after(() => Promise.all(others.map((other) => other.close())));
    let id = 0n;
    const createSome = async (thread: typeof store | (typeof others)[0]) => {
      for (let count = 0; count < 50; count += 1)
        await thread.createPlants([
          { id: (id += 1n), name: 'Alder', tag: undefined, createdBy: 0 },
        ]);
    };
    const threads = [store, ...others];
    await Promise.all([...threads, ...threads, ...threads].map(createSome));
    const refusals = server.log().match(new RegExp(`too many connections for role "${role}"`, 'g'));
    assert(refusals !== null && refusals.length < 20, `${refusals?.length} refusals`);
  });
