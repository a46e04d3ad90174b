import { commandOn } from './command-text.ts';
import { StoreOpenError } from './errors.ts';
import { namesOfNoToken } from './tables/tokens.ts';

/** The version of the tables that this program makes, in both engines. */
export const schemaVersion = 11;

/** The versions of the tables of earlier releases, by the release. This program upgrades them. */
export type ReleasedVersions = Readonly<Record<string, number>>;

/**
 * @param demanded the oldest version whose programs can use the store
 * @returns what is wrong with any other version: a sentence without its subject
 */
export function unknownVersion(
  version: number,
  released: ReleasedVersions,
  demanded = version,
): string | undefined {
  const isKnown = version >= schemaVersion || Object.values(released).includes(version);
  if (isKnown && demanded <= schemaVersion) return undefined;
  return version > schemaVersion
    ? `was made by a newer plant-store (schema ${version}, this one knows ${schemaVersion}); ` +
        'run that version or a later one'
    : `was made between two releases (schema ${version}), and this plant-store cannot ` +
        'upgrade it; export the plants with the plant-store that made it, and import them into ' +
        'a new store';
}

/** @param store the subject of a sentence @throws StoreOpenError for an earlier version */
export function demandNewest(version: number, store: string, location: string): void {
  if (version >= schemaVersion) return;
  throw new StoreOpenError(
    `${store} is of an earlier plant-store (schema ${version}); ` +
      `${commandOn(location, 'upgrade')} upgrades it`,
  );
}

/** The version of 2.0.0, whose tables only lack the identity. */
export const versionOfTwo = 10;

/** Gives the tokens of 1.1.0 what they lack, before tables are made, in the types of an engine. */
export function tokenUpgrade(integer: string, text: string): string[] {
  const columns = [
    `rotated_at ${integer}`,
    `rate_per_day ${integer}`,
    `burst ${integer}`,
    `made_by ${text}`,
    `revoked_by ${text}`,
  ];
  const reserved = namesOfNoToken.map((name) => `'${name}'`).join(', ');
  return [
    ...columns.map((column) => `ALTER TABLE tokens ADD COLUMN ${column}`),
    // 1.1.0 made tokens with the names that stand for plants without a token.
    `UPDATE tokens SET name = name || ' (token)' WHERE name IN (${reserved})`,
    // Its condition is another one today.
    'DROP INDEX tokens_name_in_force',
  ];
}
