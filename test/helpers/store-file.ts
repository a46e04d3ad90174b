import { DatabaseSync } from 'node:sqlite';

type Owner = { after(cleanup: () => unknown): void };

/** The plants in the file, in ascending order of id, as [id, name, tag]. */
export function storedPlants(path: string): (readonly [id: bigint, name: string, tag: string | null])[] {
  using db = new DatabaseSync(path, { readOnly: true });
  const select = db.prepare('SELECT id, name, tag FROM plants ORDER BY id');
  select.setReadBigInts(true);
  return select.all().map((row) => [row['id'] as bigint, row['name'] as string, row['tag'] as string | null]);
}

/** Does something to the file behind the server's back. */
export function alterStore(path: string, sql: string): void {
  using db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec(sql);
}

/** Keeps the server from writing until it is released, as another process that is busy writing would. */
export function lockStore(owner: Owner, path: string): { release(): void } {
  const db = new DatabaseSync(path, { timeout: 5_000 });
  db.exec('BEGIN IMMEDIATE');
  const release = () => {
    if (db.isOpen) db.close();
  };
  owner.after(release);
  return { release };
}
