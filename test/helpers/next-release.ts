import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';

/*
 * Loaded into a server before its own code (node --import), to make it a later release: one whose
 * store in PostgreSQL has a further column, which the upgrade adds.
 */

/** By the end of a file's address: what is in the place of a text there. */
const changes: Readonly<Record<string, readonly [text: string, changed: string]>> = {
  'src/store/schema-version.ts': ['schemaVersion = 11', 'schemaVersion = 12'],
  'src/store/postgres/schema.ts': ["'2.0.0': 10 }", "'2.0.0': 10, '3.0.0': 11 }"],
  'src/store/postgres/upgrade.ts': [
    'await query(addIdentity);',
    "await query('ALTER TABLE plants ADD COLUMN note text');",
  ],
};

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context);
    const found = Object.entries(changes).find(([file]) => url.endsWith(file));
    if (found === undefined) return loaded;
    const source = `${loaded.source}`;
    assert(source.includes(found[1][0]), `${found[0]} has changed`);
    return { ...loaded, source: source.replace(...found[1]) };
  },
});
