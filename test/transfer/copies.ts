import assert from 'node:assert/strict';
import { DatabaseSync } from 'node:sqlite';
import { nameOfDatabase, type PostgresDatabases } from '../helpers/postgres.ts';
import { type Owner, storePath } from '../helpers/program.ts';
import { doneJson } from '../helpers/run-here.ts';

/** A database of the server for copies of one test at a time. */
export async function databaseOn(server: PostgresDatabases) {
  const url = await server.makeDatabase();
  const inDatabase = (sql: string) => server.query(sql, nameOfDatabase(url));
  return {
    inDatabase,
    /** As empty as a new one, which would take three times as long. */
    async emptyDatabase(): Promise<string> {
      await inDatabase('DROP SCHEMA public CASCADE; CREATE SCHEMA public');
      return url;
    },
    /** How many plants there are by now, in a store that may be just being made. */
    async countOf(store: string): Promise<number> {
      const sql = 'SELECT count(*) AS n FROM plants';
      try {
        if (store === url) return Number((await inDatabase(sql))[0]?.['n']);
        using db = new DatabaseSync(fileOf(store), { readOnly: true, timeout: 5_000 });
        return Number(db.prepare(sql).get()?.['n']);
      } catch (error) {
        assert.match(
          (error as Error).message,
          /no such table|unable to open|relation "plants" does not exist/,
        );
        return 0;
      }
    },
  };
}

/** A store that can be named with `--store`. */
export const newFile = async (t: Owner) => `sqlite:${await storePath(t)}`;
export const fileOf = (store: string) => store.replace('sqlite:', '');

export const argsOf = (from: string, to: string, ...flags: string[]) => [
  ...['copy', from, to],
  ...flags,
];
export const copied = (from: string, to: string) => doneJson(...argsOf(from, to));

/** Both files hold the same plants and tokens, with every column. */
export function assertSameContent(one: string, other: string): void {
  using db = new DatabaseSync(fileOf(one), { readOnly: true });
  db.prepare('ATTACH ? AS other').run(fileOf(other));
  for (const table of ['plants', 'tokens']) {
    const [here, there] = [`SELECT * FROM main.${table}`, `SELECT * FROM other.${table}`];
    for (const difference of [`${here} EXCEPT ${there}`, `${there} EXCEPT ${here}`]) {
      const rows = db.prepare(difference);
      rows.setReadBigInts(true);
      assert.deepEqual(rows.all(), []);
    }
  }
}
