import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath, pathToFileURL } from 'node:url';
import openapiTS, { astToString } from 'openapi-typescript';
import type { openApiDocument } from '../../src/contract/openapi.ts';
import { startServer, storePath, token } from '../helpers/program.ts';

const folderPrefix = fileURLToPath(new URL('./.generated-', import.meta.url));

/**
 * A program as the author of a client would write it, with openapi-fetch and the generated types.
 */
const program = `
import createClient from 'openapi-fetch';
import type { paths } from './schema.ts';

export function plantsAt(baseUrl: string, token: string) {
  const client = createClient<paths>({ baseUrl, headers: { Authorization: \`Bearer \${token}\` } });
  return async function create(id: number, name: string, tag?: string) {
    const { data, error, response } = await client.POST('/plants', { body: tag === undefined ? { id, name } : { id, name, tag } });
    if (error !== undefined) {
      const code: number = error.error;
      const message: string = error.message;
      return { status: response.status, code, message };
    }
    const named: string = data.name;
    const tagged: string | undefined = data.tag;
    return { status: response.status, name: named, tag: tagged };
  };
}
`;

test('a client generated from the description that a running service publishes works against it', async (t) => {
  const store = await storePath(t);
  const { plantsUrl } = await startServer(t, store, ['--base-path', '/garden']);
  const documentUrl = plantsUrl.replace(/plants$/, 'openapi.json');
  const document = (await (await fetch(documentUrl)).json()) as ReturnType<typeof openApiDocument>;
  const folder = await generate(t, document);
  const { plantsAt } = await import(pathToFileURL(join(folder, 'client.ts')).href);

  const baseUrl = new URL(document.servers[0]?.url ?? '', documentUrl).href;
  const create = plantsAt(baseUrl, token);
  assert.deepEqual(await create(1, 'Alder', 'Alnus'), { status: 200, name: 'Alder', tag: 'Alnus' });
  assert.deepEqual(await create(1, 'Alder', 'Alnus'), { status: 200, name: 'Alder', tag: 'Alnus' });
  assert.deepEqual(await create(2, 'Black alder'), {
    status: 200,
    name: 'Black alder',
    tag: undefined,
  });

  const taken = await create(1, 'Alder');
  assert.deepEqual([taken.status, taken.code], [400, 40004]);
  assert.match(taken.message, /\b1\b/);
  const refused = await plantsAt(baseUrl, 'not-a-token')(3, 'Elder');
  assert.deepEqual([refused.status, refused.code], [401, 40101]);
});

/**
 * Writes the types and the program into a folder of the project, so that packages are found. It
 * is removed when the test ends.
 */
async function generate(t: TestContext, document: object): Promise<string> {
  const folder = await mkdtemp(folderPrefix);
  t.after(() => rm(folder, { recursive: true, force: true }));
  const types = await openapiTS(document as Parameters<typeof openapiTS>[0], { silent: true });
  await Promise.all([
    writeFile(join(folder, 'schema.ts'), astToString(types)),
    writeFile(join(folder, 'client.ts'), program),
  ]);
  return folder;
}
