import manifest from '../package.json' with { type: 'json' };

/** Version of the program. The description of the API has another version. */
export const version: string = manifest.version;
