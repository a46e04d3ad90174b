/** The version of the tables that this program makes, in both engines. */
export const schemaVersion = 10;

/**
 * @param released the earlier versions that this program upgrades
 * @returns for any other version, what is wrong with a store: a sentence without its subject
 */
export function unknownVersion(version: number, released: readonly number[]): string | undefined {
  if (version === schemaVersion || released.includes(version)) return undefined;
  return version > schemaVersion
    ? `was made by a newer plant-store (schema ${version}, this one knows ${schemaVersion}); ` +
        'run that version or a later one'
    : `was made between two releases (schema ${version}), and this plant-store cannot ` +
        'upgrade it; export the plants with the plant-store that made it, and import them into ' +
        'a new store';
}

/** The columns of `tokens` that 1.1.0 does not have, in the words of an engine. */
export function addedToTokens(integer: string, text: string): string[] {
  return [
    `rotated_at ${integer}`,
    `rate_per_day ${integer}`,
    `burst ${integer}`,
    `made_by ${text}`,
    `revoked_by ${text}`,
  ];
}
