import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { startPostgres } from '../helpers/postgres.ts';
import { startServer, temporaryFolder } from '../helpers/program.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  'docs/operating.md',
  'docs/monitoring.md',
  'docs/console.md',
  'docs/backups.md',
  'docs/command-line.md',
  'docs/data.md',
  'docs/durability.md',
  'docs/several-machines.md',
  'docs/hostile-input.md',
  'docs/performance.md',
  'bench/README.md',
];

/**
 * Lines that install, test and measure the project itself: the script that CI runs does the same.
 */
const torture = ['kill', 'power', 'faults', 'postgres', 'hostile'].map(
  (name) => `npm run torture:${name}`,
);
const ranByCi = ['npm ci', 'npm start', 'npm test', 'npm run check', ...torture, 'npm run bench'];

/** The blocks of shell commands on a page. */
function shellBlocks(page: string): string[] {
  return [...readFileSync(join(root, page), 'utf8').matchAll(/^```sh\n(.*?)^```/gms)].map(
    ([, block = '']) => block,
  );
}

/**
 * The commands as they stand, but with the project's own program, and with the ports and the
 * database of the servers under test.
 */
const preamble = `
  npx() { [ "$1" = plant-store ] && shift && "$NODE" "$ROOT/bin/plant-store.js" "\${@//postgres:\\/\\/plants@db.example.org\\/plants/$POSTGRES}"; }
  curl() {
    set -- "\${@//127.0.0.1:8080/127.0.0.1:$PORT}"
    command curl --silent --show-error --fail-with-body "\${@//127.0.0.1:8081/127.0.0.1:$OPS_PORT}"
  }
`;

test('every command that the pages show works as it is shown', async (t) => {
  const folder = await temporaryFolder(t);
  const { port, opsUrl } = await startServer(t, join(folder, 'data/plants.db'), [], {});
  const postgres = await (await startPostgres(t)).makeDatabase();
  const addresses = { PORT: `${port}`, OPS_PORT: new URL(opsUrl).port, POSTGRES: postgres };
  let printed = '';
  // What two pages show to the letter, such as a proof that takes seconds, is run once.
  for (const block of new Set(pages.flatMap(shellBlocks))) {
    const script = block
      .split('\n')
      .filter((line) => !ranByCi.some((command) => line.startsWith(command)));
    const env = { ...process.env, NODE: process.execPath, ROOT: root, ...addresses };
    const { stdout } = await promisify(execFile)('bash', ['-euc', preamble + script.join('\n')], {
      cwd: folder,
      env,
    });
    printed += stdout;
  }
  assert.match(
    printed,
    /^\{"name":"Alder","tag":"Alnus"\}\{"id":1,"name":"Alder","tag":"Alnus"\}$/m,
  );
  assert.match(printed, /^ps_[A-Za-z0-9_-]{43}$/m);
});

test('what CI is said to run stands in its script', () => {
  const script = readFileSync(join(root, '.ci/run'), 'utf8').replaceAll(
    'npm cit',
    'npm ci\nnpm test',
  );
  for (const command of ranByCi) assert(script.includes(command), `${command} is not in .ci/run`);
});
