import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildProgram } from '../packaging/bundle.ts';
import { sharedPostgres } from './helpers/postgres.ts';
import { ownerOf, temporaryFolder } from './helpers/program.ts';

/*
 * What all files of a run share (node --test-global-setup). The files find it by the environment. A
 * file that runs alone does without.
 */

const shared = new AsyncDisposableStack();

export async function globalSetup(): Promise<void> {
  const owner = ownerOf(shared);
  const folder = await temporaryFolder(owner);
  await buildProgram(folder);
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }');
  process.env['BUILT_PROGRAM'] = join(folder, 'bin/plant-store.js');
  process.env['SHARED_POSTGRES_PORT'] = `${(await sharedPostgres(owner)).port}`;
}

export async function globalTeardown(): Promise<void> {
  await shared.disposeAsync();
}
