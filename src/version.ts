import manifest from '../package.json' with { type: 'json' };
import { form } from './program.ts';

/** Version of the program. The description of the API has another version. */
export const version: string = manifest.version;

/** The build replaces the name with the commit of the source. */
declare const COMMIT_OF_BUILD: string | null;

/** What a report of a defect needs to say about the program. */
export const build = {
  version,
  commit: form === 'source' ? null : COMMIT_OF_BUILD,
  form,
  node: process.versions.node,
  sqlite: process.versions['sqlite'],
  platform: `${process.platform}-${process.arch}`,
};
