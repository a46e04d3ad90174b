import manifest from '../package.json' with { type: 'json' };

/** Of the program; the description of the API has a version of its own. */
export const version: string = manifest.version;
