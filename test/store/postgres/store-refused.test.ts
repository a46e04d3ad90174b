import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { limits } from '../../../src/limits.ts';
import { StoreError } from '../../../src/store/errors.ts';
import type { PlantToCreate, Settlement } from '../../../src/store/plants.ts';
import { rememberRefused } from '../../../src/store/postgres/refused-plants.ts';
import { joinPostgresStore, openPostgresStore } from '../../../src/store/postgres/store.ts';
import { createAtLast } from '../../../src/transfer/retry.ts';
import { nameOfDatabase, sharedPostgres } from '../../helpers/postgres.ts';
import { locationOf } from '../../helpers/postgres-connection.ts';

const server = await sharedPostgres({ after });

const url = await server.makeDatabase();

/** A store whose table of plants has been changed. It is the only one of the file at a time. */
async function storeWith(
  t: TestContext,
  changes: string | readonly string[] = [],
  callMs = 20_000,
) {
  // As empty as a new database, which would take three times as long.
  await server.query('DROP SCHEMA public CASCADE; CREATE SCHEMA public', url);
  const options = { callMs, acceptsLostCommits: false };
  const store = await openPostgresStore(locationOf(url), { ...options, mayMake: true });
  t.after(() => store.close());
  const change = (text: string) => server.query(text, url);
  const sessions = () =>
    server.query(
      `SELECT pid FROM pg_stat_activity WHERE datname = '${nameOfDatabase(url)}'
        AND application_name = 'plant-store' ORDER BY pid`,
    );
  for (const text of [changes].flat()) await change(text);
  return { options, store, change, sessions };
}

function plant(id: number, name: string, tag?: string): PlantToCreate {
  return { id: BigInt(id), name, tag, createdBy: 0 };
}

function shortly(settlements: readonly Settlement[]): string[] {
  return settlements.map((one) => (one instanceof StoreError ? one.failure : one));
}

/** No rollback takes back the count of a sequence. */
const noBad = `CREATE SEQUENCE refusals;
  CREATE FUNCTION refused() RETURNS boolean LANGUAGE plpgsql AS
    $$ BEGIN PERFORM nextval('refusals'); RETURN false; END $$;
  ALTER TABLE plants ADD CONSTRAINT no_bad CHECK (name <> 'bad' OR refused())`;

async function refusals(): Promise<number> {
  const counted = 'SELECT last_value::int * is_called::int AS count FROM refusals';
  return Number((await server.query(counted, url))[0]?.['count']);
}

/** Makes a trigger of a function that is called for each new plant. */
function trigger(body: string, kind = 'TRIGGER watch BEFORE INSERT ON plants'): string {
  return `CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} END $$;
    CREATE ${kind} FOR EACH ROW EXECUTE FUNCTION watch()`;
}

const long = randomBytes(4_000).toString('hex');
const partitioned = `DROP TABLE plants;
  CREATE TABLE plants (id bigint NOT NULL, name text NOT NULL, tag text,
    created_at bigint NOT NULL, created_by bigint NOT NULL, PRIMARY KEY (id))
    PARTITION BY RANGE (id);
  CREATE TABLE low PARTITION OF plants FOR VALUES FROM (0) TO (1000)`;

/** Each refuses the plants of one name or tag. */
const rules = [
  noBad,
  'CREATE INDEX wide ON plants (name)',
  "CREATE INDEX numbers ON plants (CAST(tag AS integer)) WHERE tag <> 'tree'",
  'CREATE SEQUENCE places',
  trigger(`CASE NEW.name
      WHEN 'secret away' THEN RETURN NULL;
      WHEN 'secret' THEN RAISE 'not %', NEW.name USING ERRCODE = '23514';
      WHEN 'secret end' THEN RAISE 'no' USING ERRCODE = '57P01';
      WHEN 'secret key' THEN RAISE 'no' USING ERRCODE = '42501';
      WHEN 'secret place' THEN PERFORM currval('places');
      ELSE NULL;
    END CASE; RETURN NEW;`),
  `CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN IF NEW.name = 'secret late' THEN RAISE 'no'; END IF; RETURN NULL; END $$;
    CREATE CONSTRAINT TRIGGER late AFTER INSERT ON plants DEFERRABLE INITIALLY DEFERRED
      FOR EACH ROW EXECUTE FUNCTION late()`,
];

type Refused = readonly [bad: PlantToCreate, failure: string, says: RegExp];

/** By what refuses a plant, how it is answered. */
const ofRules: Record<string, Refused> = {
  'a CHECK': [plant(10, 'bad'), 'refused', /"no_bad" \(SQLSTATE 23514\)/],
  'an index': [plant(11, long), 'refused', /"wide" .*54000/],
  'an expression': [
    plant(12, 'Alder', 'secret'),
    'refused',
    /^a text does not suit an index or a constraint of the database \(SQLSTATE 22P02\)$/,
  ],
  'a trigger that drops it': [
    plant(13, 'secret away'),
    'unavailable',
    /drops a plant without an error/,
  ],
  'a trigger that fails with a code of its own': [
    plant(14, 'secret'),
    'unavailable',
    /^a trigger or a function of the database has failed; .*23514/,
  ],
  'a trigger that fails with the code of a server that ends': [
    plant(15, 'secret end'),
    'unavailable',
    /^a trigger or a function .*57P01/,
  ],
  'a trigger that fails with the code of a missing privilege': [
    plant(16, 'secret key'),
    'unavailable',
    /has its text \(SQLSTATE 42501\)$/,
  ],
  'a trigger that lacks what it needs': [
    plant(17, 'secret place'),
    'unavailable',
    /^a trigger or a function .*55000/,
  ],
  'a constraint that waits for the COMMIT': [
    plant(18, 'secret late'),
    'unavailable',
    /^a trigger or a function/,
  ],
};

const ofPartitions: Record<string, [change: string, says: RegExp]> = {
  'a missing partition': [partitioned, /no partition .*23514/],
  'a partition that takes no plant': [
    `${partitioned}; CREATE TABLE others PARTITION OF plants DEFAULT;
      CREATE TABLE closed PARTITION OF plants FOR VALUES FROM (5000) TO (6000);
      ALTER TABLE closed ADD CONSTRAINT none CHECK (id IS NULL)`,
    /"none" .*23514/,
  ],
};

/** One refused plant harms no other of its batch, and ends no session. */
async function assertRefusesOne(
  { store, sessions }: Awaited<ReturnType<typeof storeWith>>,
  [bad, failure, says]: Refused,
): Promise<void> {
  const from = Number(bad.id) < 1_000 ? Number(bad.id) * 100 : 0;
  const plants = Array.from({ length: 100 }, (_, id) => plant(from + id, 'Alder', 'tree'));
  plants[50] = bad;
  await store.createPlants([plant(900, 'Birch', 'tree')]);
  const before = await sessions();
  const settlements = await store.createPlants(plants);
  const expected = plants.map((one) => (one === bad ? failure : 'created'));
  assert.deepEqual(shortly(settlements), expected);
  const [refusal] = settlements.filter((one) => one instanceof StoreError);
  assert.match(refusal?.message ?? '', says);
  assert.doesNotMatch(refusal?.message ?? '', /secret/);
  assert.deepEqual(shortly(await store.createPlants([bad])), [failure]);
  assert.deepEqual(await sessions(), before);
}

test('one plant that a rule of the database refuses harms no other of its batch, and ends no session', async (t) => {
  const withRules = await storeWith(t, rules);
  for (const [what, refused] of Object.entries(ofRules))
    await t.test(what, () => assertRefusesOne(withRules, refused));
});

for (const [what, [change, says]] of Object.entries(ofPartitions))
  test(`the same of ${what}`, async (t) =>
    assertRefusesOne(await storeWith(t, change), [plant(5_000, 'Alder'), 'unavailable', says]));

test('a store that refuses each plant refuses none for its content', async (t) => {
  const { store } = await storeWith(t, 'ALTER TABLE plants ADD CONSTRAINT none CHECK (id IS NULL)');
  const settlements = await store.createPlants([plant(1, 'Alder'), plant(2, 'Birch')]);
  assert.deepEqual(shortly(settlements), ['unavailable', 'unavailable']);
});

test('a plant that is stored already is the same, or taken, although the database would refuse it now', async (t) => {
  const { store, change } = await storeWith(t);
  await store.createPlants([plant(1, 'bad'), plant(2, 'Alder')]);
  await change(`${noBad} NOT VALID`);
  const batch = [plant(1, 'bad'), plant(2, 'bad'), plant(3, 'bad'), plant(4, 'Birch')];
  const expected = ['same', 'taken', 'refused', 'created'];
  assert.deepEqual(shortly(await store.createPlants(batch)), expected);
  // Also where it is remembered.
  assert.deepEqual(shortly(await store.createPlants(batch)), [...expected.slice(0, 3), 'same']);
});

test('of two plants with one id, the second is created if the first is refused', async (t) => {
  const { store } = await storeWith(t, noBad);
  const batch = [plant(1, 'bad'), plant(1, 'bad'), plant(1, 'Alder'), plant(1, 'Birch')];
  const settlements = await store.createPlants(batch);
  assert.deepEqual(shortly(settlements), ['taken', 'taken', 'created', 'taken']);
});

test('a refused plant that comes again makes no further transaction fail, until it is forgotten', async (t) => {
  const { store, change } = await storeWith(t, noBad);
  assert.deepEqual(shortly(await store.createPlants([plant(1, 'bad')])), ['refused']);
  const before = await refusals();
  for (let id = 2; id < 10; id += 1) {
    const batch = [plant(1, 'bad'), plant(id, 'Alder')];
    assert.deepEqual(shortly(await store.createPlants(batch)), ['refused', 'created']);
  }
  assert.equal(await refusals(), before);
  // Another plant with this id is another matter.
  await change('ALTER TABLE plants DROP CONSTRAINT no_bad');
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + limits.postgres.refusedMs);
  assert.deepEqual(shortly(await store.createPlants([plant(1, 'bad')])), ['created']);
});

test('what is remembered of refused plants is bounded', () => {
  const refused = rememberRefused(() => 0);
  const plants = Array.from({ length: limits.postgres.refusedMax + 1 }, (_, id) =>
    plant(id, 'bad'),
  );
  for (const one of plants) refused.note(one, new StoreError('refused', 'a constraint'));
  assert.equal(refused.among(plants).size, limits.postgres.refusedMax);
});

test('the tries to find refused plants are bounded, and the rest of the batch is unavailable', async (t) => {
  const { store } = await storeWith(t, noBad);
  const plants = Array.from({ length: 400 }, (_, id) => plant(id, id % 5 === 0 ? 'bad' : 'Alder'));
  const before = await refusals();
  const found = new Set<string>();
  let left = plants;
  for (let rounds = 1; left.length > 0; rounds += 1) {
    const settlements = shortly(await store.createPlants(left));
    for (const [index, settlement] of settlements.entries())
      found.add(`${left[index]?.name} ${settlement}`);
    if (rounds === 1) {
      assert(settlements.includes('unavailable'));
      assert((await refusals()) - before <= limits.postgres.savepointsMax + 1);
    }
    left = left.filter((_, index) => settlements[index] === 'unavailable');
  }
  found.delete('bad unavailable');
  found.delete('Alder unavailable');
  assert.deepEqual([...found].sort(), ['Alder created', 'bad refused']);
});

test('an import sends fewer plants at a time where the database refuses many', async (t) => {
  const { store } = await storeWith(t, noBad);
  const sizes: number[] = [];
  const createPlants = (plants: readonly PlantToCreate[]) => {
    sizes.push(plants.length);
    return store.createPlants(plants);
  };
  const plants = Array.from({ length: 300 }, (_, id) => plant(id, id % 4 ? 'Alder' : 'bad'));
  const outcomes = await createAtLast({ createPlants }, plants, assert.fail);
  const isRefused = outcomes.map((outcome) => typeof outcome === 'object');
  assert.deepEqual(
    isRefused,
    plants.map(({ name }) => name === 'bad'),
  );
  assert.deepEqual(sizes.slice(0, 2), [300, 75]);
});

test('no plant is refused that fails only together with others', async (t) => {
  const few = `CREATE FUNCTION few() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF (SELECT count(*) FROM new) > 6 THEN RAISE check_violation USING CONSTRAINT = 'few'; END IF;
      RETURN NULL; END $$;
    CREATE TRIGGER few AFTER INSERT ON plants REFERENCING NEW TABLE AS new
      FOR EACH STATEMENT EXECUTE FUNCTION few()`;
  const { store } = await storeWith(t, few);
  const plants = Array.from({ length: 16 }, (_, id) => plant(id, 'Alder'));
  const settlements = shortly(await store.createPlants(plants));
  assert.deepEqual(new Set(settlements), new Set(['created']));
});

test('plants that are longer than the refused one, and fit, take no more tries', async (t) => {
  const { store } = await storeWith(t, 'CREATE INDEX wide ON plants (name)');
  const plants = Array.from({ length: 100 }, (_, id) => plant(id, 'a'.repeat(9_000)));
  plants[50] = plant(50, long);
  const expected = plants.map((_, id) => (id === 50 ? 'refused' : 'created'));
  assert.deepEqual(shortly(await store.createPlants(plants)), expected);
});

test('the time to find refused plants is bounded, and the batch ends before its own time is over', async (t) => {
  const slow = trigger(
    "PERFORM pg_sleep(0.2); IF NEW.name = 'bad' THEN RAISE 'no'; END IF; RETURN NEW;",
  );
  const { store } = await storeWith(t, slow, 3_000);
  const plants = Array.from({ length: 16 }, (_, id) => plant(id, 'bad'));
  const settlements = shortly(await store.createPlants(plants));
  assert.deepEqual(new Set(settlements), new Set(['unavailable']));
});

test('the time to try a plain plant is bounded, too', async (t) => {
  const isTree = "ALTER TABLE plants ADD CONSTRAINT trees CHECK (tag IS NOT DISTINCT FROM 'tree')";
  const slow = trigger('PERFORM pg_sleep(0.2); RETURN NEW;');
  const { store } = await storeWith(t, [isTree, slow], 3_000);
  const settlements = await store.createPlants([plant(1, 'Alder', 'tree'), plant(2, 'Birch')]);
  assert.deepEqual(shortly(settlements), ['created', 'unavailable']);
});

/** With each, a 200 would mean another plant, or none. What ends it, is said. */
const faults: Record<string, [change: string, says: RegExp]> = {
  'changes plants': [
    trigger('NEW.name = upper(NEW.name); RETURN NEW;'),
    /changes the name of a plant; ALTER TABLE public.plants DISABLE TRIGGER watch/,
  ],
  'changes unusual plants only': [
    trigger('NEW.tag = trim(NEW.tag); RETURN NEW;'),
    /changes the tag of a plant; ALTER TABLE public.plants DISABLE TRIGGER watch/,
  ],
  'changes plants at the COMMIT': [
    `CREATE FUNCTION watch() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN UPDATE plants SET name = upper(name) WHERE id = NEW.id; RETURN NULL; END $$;
      CREATE CONSTRAINT TRIGGER watch AFTER INSERT ON plants DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION watch()`,
    /changes the name of a plant; ALTER TABLE public.plants DISABLE TRIGGER watch/,
  ],
  'drops plants': [
    trigger('RETURN NULL;'),
    /a plant is dropped without an error; ALTER TABLE public.plants DISABLE TRIGGER watch/,
  ],
  'has a rule': [
    'CREATE RULE away AS ON INSERT TO plants DO INSTEAD NOTHING',
    /a plant is not stored \(.*\); ALTER TABLE public.plants DISABLE RULE away/,
  ],
  'hides plants': [
    `CREATE ROLE half LOGIN; GRANT USAGE ON SCHEMA public TO half; GRANT ALL ON ALL TABLES IN SCHEMA public TO half;
      ALTER TABLE plants ENABLE ROW LEVEL SECURITY; CREATE POLICY positive ON plants USING (id > 0)`,
    /a plant is not stored \(.*row-level security.*\); ALTER TABLE public.plants DISABLE ROW LEVEL/,
  ],
};

test('a test write finds what a database does to plants, and stores nothing', async (t) => {
  const { options, change } = await storeWith(t);
  const undo = 'DROP FUNCTION IF EXISTS watch CASCADE; DROP RULE IF EXISTS away ON plants';
  for (const [what, [made, says]] of Object.entries(faults))
    await t.test(`which ${what}`, async () => {
      await change(made);
      const role = what === 'hides plants' ? 'half' : 'postgres';
      const location = locationOf(url.replace('//postgres', `//${role}`));
      await using other = await openPostgresStore(location, options);
      await assert.rejects(other.testWrite(), says);
      assert.deepEqual(await server.query('SELECT FROM plants', url), []);
      await change(undo);
    });
});

/** With each, plants of some kinds get an error, and all others are stored. */
const edges: Record<string, [change: string, ...says: readonly RegExp[]]> = {
  'indexes and a trigger that take no plants of some kinds': [
    `CREATE INDEX wide ON plants (name);
      CREATE INDEX numbers ON plants (CAST(tag AS integer)) WHERE length(tag) > 9;
      ${trigger("IF NEW.name LIKE ' %' THEN RAISE 'no blanks' USING ERRCODE = '42501'; END IF; RETURN NEW;")}`,
    /with a name of 8000/,
    /with a tag of 8000 characters, a plant is not stored \([^)]{200,210}\)/,
    /with blanks and accents, a plant is not stored \(no blanks\)/,
  ],
  'no partition for each id': [
    `${partitioned}; CREATE TABLE high PARTITION OF plants FOR VALUES FROM (1000) TO (9223372036854775807)`,
    /with the id -9223372036854775808, a plant is not stored \(no partition of relation/,
  ],
  'a CHECK that takes no plain plant': [
    "ALTER TABLE plants ADD CHECK (tag = 'tree')",
    /a plant is not stored \(.*plants_tag_check/,
  ],
};

for (const [what, [change, ...says]] of Object.entries(edges))
  test(`a test write warns of ${what}, and other plants are stored`, async (t) => {
    const { store } = await storeWith(t, change);
    const warnings = (await store.testWrite()).join('\n');
    for (const one of says) assert.match(warnings, one);
    assert.deepEqual(await store.createPlants([plant(1, 'Alder', 'tree')]), ['created']);
  });

test('once a test write is not stored as it was sent, no thread creates plants until one is', async (t) => {
  const { options, store, change } = await storeWith(t);
  const share = store.share(new Worker('', { eval: true }));
  const joined = joinPostgresStore(locationOf(url), share, options);
  t.after(() => joined.close());
  await store.beat(1);
  await change(trigger("NEW.name = 'x' || NEW.name; RETURN NEW;"));
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + limits.postgres.testWriteMs);
  await assert.rejects(store.beat(1), /changes the name of a plant; ALTER TABLE .* TRIGGER watch$/);
  for (const one of [store, joined])
    await assert.rejects(one.createPlants([plant(1, 'Alder')]), /the last test write/);
  await change('ALTER TABLE public.plants DISABLE TRIGGER watch');
  await store.beat(1);
  assert.deepEqual(await joined.createPlants([plant(1, 'Alder')]), ['created']);
});
