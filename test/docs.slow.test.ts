import assert from 'node:assert/strict';
import { execFile, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { packClient } from '../packaging/client.ts';
import { withLimits } from './helpers/faults.ts';
import { type Block, blocksOf, pages, root } from './helpers/pages.ts';
import { sharedPostgres } from './helpers/postgres.ts';
import { oneThread, startServer, temporaryFolder } from './helpers/program.ts';
import { skipVisibly } from './helpers/skips.ts';

/** The tests of the packages run these pages, on machines of their own. */
const installation = ['docs/operate/install.md', 'docs/operate/server.md'];

/** `recovery.test.ts` runs each section in the situation that the section is about. */
const recovery = 'docs/operate/recovery.md';

/**
 * Lines that install, test and measure the project itself: the script that CI runs does the same.
 */
const torture = ['power', 'faults', 'history', 'hostile', 'litestream', 'disasters', 'client'].map(
  (name) => `npm run torture:${name}`,
);
const ranByCi = ['npm ci', 'npm run check', ...torture, 'npm run bench'];

/**
 * The commands as they stand, but with the project's own program, and with the ports and the
 * database of the servers under test.
 */
const preamble = `
  npx() {
    [ "$1" = plant-store ] && shift
    case "$1" in open) set -- "$@" --ops-port "$OPS_PORT" ;; esac
    set -- "\${@//127.0.0.1:8080/127.0.0.1:$PORT}"
    "$NODE" "$ROOT/bin/plant-store.js" "\${@//postgres:\\/\\/plants@db.example.org\\/plants/$POSTGRES}"
  }
  curl() {
    set -- "\${@//127.0.0.1:8080/127.0.0.1:$PORT}"
    command curl --silent --show-error --fail-with-body "\${@//127.0.0.1:8081/127.0.0.1:$OPS_PORT}"
  }
`;

test('every command and program that the pages show works as it is shown', async (t) => {
  const folder = await temporaryFolder(t);
  const { port, opsUrl } = await startServer(t, join(folder, 'data/plants.db'), oneThread, {});
  const postgres = await (await sharedPostgres(t)).makeDatabase();
  const addresses = { PORT: `${port}`, OPS_PORT: new URL(opsUrl).port, POSTGRES: postgres };
  const { PLANT_STORE_TOKEN: _, ...briefly } = withLimits({ prove: { seconds: 1 } });
  const env = { ...process.env, ...briefly, NODE: process.execPath, ROOT: root, ...addresses };
  await packClient(folder);
  let printed = '';
  // A block that stands on several pages, such as a proof that takes seconds, is run once.
  for (const script of new Set(
    pages.filter((page) => ![...installation, recovery].includes(page)).flatMap(scriptsOf),
  )) {
    const options = { cwd: folder, env };
    const { stdout } = await promisify(execFile)('bash', ['-euc', preamble + script], options);
    printed += stdout;
  }
  assert.match(
    printed,
    /^\{"name":"Alder","tag":"Alnus"\}\{"id":1,"name":"Alder","tag":"Alnus","createdAt":"/m,
  );
  assert.match(printed, /^ps_[A-Za-z0-9_-]{43}$/m);
});

function scriptsOf(page: string): string[] {
  return blocksOf(page).flatMap(scriptOf);
}

function scriptOf({ language, text }: Block): string | [] {
  if (language === 'sh')
    return text
      .split('\n')
      .filter((line) => !ranByCi.some((command) => line.startsWith(command)))
      .join('\n');
  if (language !== 'js') return [];
  const asShown = `sed "s/127.0.0.1:8080/127.0.0.1:$PORT/" <<'PROGRAM'\n${text}PROGRAM\n`;
  return `program=$(${asShown})\nTOKEN=$(cat data/first-start.token) "$NODE" --input-type=module --eval "$program"`;
}

test('what CI is said to run stands in its script', () => {
  const script = readFileSync(join(root, '.ci/run'), 'utf8');
  for (const command of ranByCi) assert(script.includes(command), `${command} is not in .ci/run`);
});

test('the page of the command line shows how to find the tokens in force that expire within a week', (t) => {
  if (spawnSync('jq', ['--version']).status !== 0) return skipVisibly(t, 'jq is missing');
  const page = readFileSync(join(root, 'docs/operate/command-line.md'), 'utf8');
  const [, program = ''] = /token list --json \| jq -r '([^']+)'/.exec(page) ?? [];
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  const tokens = [
    { name: 'soon', state: 'valid', expiresAt: inDays(3) },
    { name: 'old-secret', state: 'rotated', expiresAt: inDays(1) },
    { name: 'later', state: 'valid', expiresAt: inDays(8) },
    { name: 'forever', state: 'valid' },
    { name: 'gone', state: 'revoked', expiresAt: inDays(3) },
    { name: 'over', state: 'expired', expiresAt: inDays(-1) },
  ];
  const input = tokens.map((token) => JSON.stringify(token)).join('\n');
  const { stdout, stderr } = spawnSync('jq', ['-r', program], { input, encoding: 'utf8' });
  assert.deepEqual([stdout, stderr], ['soon\nold-secret\n', '']);
});
