import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { flip, offsetOf } from '../../helpers/damage.ts';
import { blocksIn, blocksUnder, readPage, root } from '../../helpers/pages.ts';
import {
  besideOthers,
  create,
  programInShell,
  temporaryFolder,
  token,
} from '../../helpers/program.ts';
import { runHere } from '../../helpers/run-here.ts';
import { alterStore, storedPlants } from '../../helpers/store-file.ts';

/*
 * The commands of the page, as root types them, each in the situation that its section is about. In
 * the place of the paths of the Debian package stand folders of the test, and in the place of systemd
 * a script that starts and stops the real program.
 */

const page = 'docs/operate/recovery.md';
const [preparation] = blocksIn(page, readPage(page));

const scripts: Readonly<Record<string, string>> = {
  'plant-store': `exec ${programInShell} "$@"`,
  runuser: 'shift 3; exec "$@"',
  chown: '',
  journalctl: 'tail -n 20 "$MACHINE/log"',
  systemctl: `
    case "$*" in
      'stop plant-store')
        kill "$(cat "$MACHINE/pid")" || exit 0
        while kill -0 "$(cat "$MACHINE/pid")"; do sleep 0.02; done ;;
      'start plant-store')
        cd /var/lib/plant-store
        : > "$MACHINE/log"
        setsid plant-store serve --port 0 --http-threads 1 > /dev/null 2>> "$MACHINE/log" &
        echo $! > "$MACHINE/pid"
        until grep ready "$MACHINE/log"; do kill -0 $! || exit 1; sleep 0.02; done ;;
    esac 2> /dev/null`,
};

interface Machine {
  readonly store: string;
  readonly backups: string;
  /** Types the preparation and the block of a section, also after a command that fails. */
  type(heading: string): Promise<string>;
  create(id: number): Promise<number>;
  run(command: string): Promise<string>;
}

/** A machine with a service and 20 plants, a backup of them, and a plant that came later. */
async function startMachine(t: TestContext): Promise<Machine> {
  const folder = await temporaryFolder(t);
  for (const name of ['bin', 'backups']) mkdirSync(join(folder, name));
  const lib = join(folder, 'lib');
  mkdirSync(lib);
  const here = (text: string) =>
    text
      .replaceAll('/var/lib/plant-store', lib)
      .replaceAll('/var/backups/plant-store', join(folder, 'backups'))
      .replaceAll('/etc/default/plant-store', join(folder, 'settings'));
  for (const [name, text] of Object.entries(scripts)) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/bash\n${here(text)}\n`);
    chmodSync(join(folder, 'bin', name), 0o755);
  }
  writeFileSync(join(folder, 'settings'), `# A comment.\nPLANT_STORE_LOG_LEVEL=info\n`);
  const env = {
    ...process.env,
    ...besideOthers,
    ...{ PATH: `${join(folder, 'bin')}:${process.env['PATH']}`, MACHINE: folder, ROOT: root },
    PLANT_STORE_TOKEN: token,
  };
  const run = async (script: string) => {
    const args = ['-uc', here(script)];
    const { stdout, stderr } = await promisify(execFile)('bash', args, { env }).catch((e) => e);
    return `${stdout}${stderr}`;
  };
  t.after(() => run('systemctl stop plant-store'));
  const machine = {
    store: join(lib, 'data/plants.db'),
    backups: join(folder, 'backups'),
    type: (heading: string) =>
      run(
        `${preparation?.text}${blocksUnder(page, heading)
          .map(({ text }) => text)
          .join('')}`,
      ),
    async create(id: number) {
      const url = /http[^"]*plants/.exec(readFileSync(join(folder, 'log'), 'utf8'))?.[0] ?? '';
      return (await create(url, { id, name: `plant number ${id}` })).status;
    },
    run,
  };
  await run('systemctl start plant-store');
  for (let id = 1; id <= 20; id += 1) assert.equal(await machine.create(id), 200);
  const backup = await runHere(['backup', machine.backups, '--store', `sqlite:${machine.store}`]);
  assert.equal(backup.code, 0, backup.stderr);
  assert.equal(await machine.create(21), 200);
  return machine;
}

const namesIn = (store: string) => storedPlants(store).map(([, name]) => name);
const names = (count: number) => Array.from({ length: count }, (_, id) => `plant number ${id + 1}`);

/** Stops the service, so that the file has all plants, and damages the file. */
async function damage({ run, store }: Machine, work: () => void): Promise<void> {
  await run('systemctl stop plant-store');
  assert.equal(namesIn(store).length, 21);
  work();
}

test('1. the machine is gone: the backup is the store of the next machine', async (t) => {
  const machine = await startMachine(t);
  await damage(machine, () => rmSync(join(machine.store, '..'), { recursive: true }));
  // The installation starts the service, on an empty store.
  await machine.run('systemctl start plant-store');
  const said = await machine.type('1. The machine is gone');
  assert.match(said, /^The store at .* now holds the backup .*plants-.*Z\.db\.$/m);
  assert.deepEqual(namesIn(machine.store), names(20));
  assert.deepEqual([await machine.create(20), await machine.create(21)], [200, 200]);

  const end = await machine.type('At the end');
  assert.match(end, /^The backup .* is sound, and matches its manifest\.$/m);
  assert.match(end, /^plants +21$/m);
});

test('3. the service does not start: the last lines say why, and section 2 or 1 helps', async (t) => {
  const machine = await startMachine(t);
  const { store } = machine;
  await damage(machine, () => flip(store, offsetOf(store, 'plant number 17') - 4_096, 0xff));
  writeFileSync(store, readFileSync(store).fill(0xff, 4_096, 8_192));
  await machine.run('systemctl start plant-store');
  const said = await machine.type('3. The service does not start');
  assert.match(said, /^plant-store: the store at .* is damaged/m);
  assert.match(await machine.type('2. The store is damaged'), /now holds the backup/);
  assert.deepEqual(namesIn(store).slice(0, 20), names(20));
  assert.equal(await machine.create(21), 200);
});

test('4 and 2. plants are missing or differ: the comparison names them, the backup takes the place of the store, and newer plants come from what can be read', async (t) => {
  const machine = await startMachine(t);
  const heading = '4. Plants are missing or differ';
  assert.match(await machine.type(heading), /^The store at .* holds every plant of /m);
  alterStore(machine.store, "UPDATE plants SET name = 'Oak' WHERE id = 3");
  alterStore(machine.store, 'DELETE FROM plants WHERE id = 1');
  const compared = await machine.type(heading);
  assert.match(compared, /^changed +1$/m);
  assert.match(compared, /^missing +1$/m);
  assert.match(compared, / restore .* --overwrite/);

  const said = await machine.type('2. The store is damaged');
  assert.match(said, /^The replaced store is kept at .*\.replaced-/m);
  assert.match(said, /^The store at .* now holds the backup /m);
  assert.match(said, /^created +1$/m);
  assert.match(said, /^refused +1$/m);
  assert.deepEqual(namesIn(machine.store), names(21));
  assert.equal(await machine.create(3), 200);
});
