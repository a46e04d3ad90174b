import assert from 'node:assert/strict';
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import manifest from '../../package.json' with { type: 'json' };
import { litestreamProgram, whyNoLitestream } from '../../test/helpers/litestream.ts';
import { type Block, blocksOf } from '../../test/helpers/pages.ts';
import { skipVisibly } from '../../test/helpers/skips.ts';
import { debianVersion } from '../debian.ts';
import { curlThatFails, firstPlant, shownIn } from './shown.ts';

/*
 * The executable and the Debian package in `release/`, on a machine with systemd and nothing else: a
 * container that boots. Needs root, mmdebstrap and systemd-nspawn.
 */

const executable = `plant-store-${manifest.version}-linux-x64`;
const file = `plant-store_${debianVersion}_amd64.deb`;
const folder = mkdtempSync(join(tmpdir(), 'plant-store-machine-'));
const root = join(folder, 'root');
let systemd = 0;

/** Runs lines of a shell on the machine, as root in its home. @throws if they fail */
function run(script: string): string {
  const args = ['--target', `${systemd}`, '--all', 'bash', '-euc', `cd /root\n${script}`];
  const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', HOME: '/root' };
  return execFileSync('nsenter', args, { env, encoding: 'utf8', cwd: '/' });
}

async function until(script: string): Promise<void> {
  for (;;) {
    try {
      return void run(script);
    } catch {
      await delay(100);
    }
  }
}

const create = (id: number, url = 'http://127.0.0.1:8080', flags = '') =>
  run(`curl --silent --show-error --fail-with-body ${url}/plants ${flags} \
    --resolve plants.example.org:443:127.0.0.1 \
    -H "Authorization: Bearer $(cat /etc/plant-store/token)" -H 'Content-Type: application/json' \
    -d '{"id":${id},"name":"Alder","tag":"Alnus"}'`);

/** A command of the program as the user of the service. */
const asService = (command: string) =>
  run(`cd /var/lib/plant-store && runuser --user plant-store -- plant-store ${command}`);

const property = (name: string) =>
  run(`systemctl show --property=${name} --value plant-store`).trim();

/** systemd needs control groups of version 2, and a network without the ports of this machine. */
const boot = `
  umount --lazy /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; mkdir -p /sys/fs/cgroup/machine
  echo $$ > /sys/fs/cgroup/machine/cgroup.procs
  exec systemd-nspawn --quiet --register=no --keep-unit --private-network --boot --directory="$0" --console=pipe`;

/** The first process of the machine; 0 before it runs. */
function findSystemd(container: ChildProcess): number {
  const children = readFileSync(`/proc/${container.pid}/task/${container.pid}/children`, 'utf8');
  const pids = children.trim().split(' ').map(Number);
  const isSystemd = (pid: number) => readFileSync(`/proc/${pid}/comm`, 'utf8') === 'systemd\n';
  return pids.find((pid) => pid > 0 && isSystemd(pid)) ?? 0;
}

let container: ChildProcess | undefined;

before(async () => {
  const packages = 'systemd,systemd-sysv,dbus,libatomic1,curl,openssl';
  const args = ['--quiet', '--variant=minbase', `--include=${packages}`, 'trixie', root];
  execFileSync('mmdebstrap', args, { stdio: 'ignore' });
  for (const name of [executable, file])
    copyFileSync(join('release', name), join(root, 'root', name));
  const inNamespaces = ['--mount', '--cgroup', 'sh', '-ec', boot, root];
  container = spawn('unshare', inNamespaces, { stdio: 'ignore' });
  while (systemd === 0) {
    await delay(100);
    systemd = findSystemd(container);
  }
  await until('systemctl is-system-running');
});

after(async () => {
  const isOver = container && once(container, 'exit');
  if (systemd > 0) run('systemctl poweroff');
  else container?.kill('SIGKILL');
  await isOver;
  rmSync(folder, { recursive: true });
});

test('the commands of the page lead from the executable to the first plant', () => {
  run('mkdir garden && mv plant-store-* garden && chmod -x garden/plant-store-*');
  const output = run(`cd garden\n${shownIn('Executable')}`);
  assert(output.endsWith(firstPlant), output);
});

test('a package whose service cannot start is installed, and says what to do', async () => {
  run(`systemd-run --quiet --unit=other --working-directory=/root/garden \
    /root/garden/${executable} serve --ops-port off`);
  await until('curl --silent http://127.0.0.1:8080/');
  const output = run(`dpkg --install ${file} 2>&1`);
  assert.match(output, /has not started, and "journalctl --unit plant-store" says why/);
  assert.match(run('dpkg-query --status plant-store'), /^Status: install ok installed$/m);
  assert.match(run('journalctl --unit plant-store'), /port 8080 .* is taken by another program/);
  run('systemctl stop other; systemctl restart plant-store');
});

test('the service of the package stores a create', () => {
  assert.equal(property('ActiveState'), 'active');
  assert.equal(create(2), firstPlant);
  assert.match(asService('plants get 2'), /^\{"id":2,"name":"Alder","tag":"Alnus","createdAt":/);
});

test('the commands of the page upgrade it, and the plants and the token stay', () => {
  const pid = property('MainPID');
  // As if an earlier version were installed.
  run("sed -i '/^Package: plant-store$/,/^$/s/^Version: .*/&~before/' /var/lib/dpkg/status");
  const output = run(shownIn('Debian package'));
  assert(output.endsWith(firstPlant), output);
  assert.equal(run('dpkg-query --show plant-store'), `plant-store\t${debianVersion}\n`);
  run(`dpkg --compare-versions 1.1.0 lt ${debianVersion}
    dpkg --compare-versions ${debianVersion} le ${manifest.version.replace(/-.*/, '')}`);
  assert.equal(run('dpkg --verify plant-store'), '');
  assert.notEqual(property('MainPID'), pid);
  assert.equal(asService('plants count'), '2\n');
});

test('the service runs again when the package is installed after a removal', () => {
  run(`dpkg --remove plant-store; dpkg --install ${file}`);
  assert.equal(property('ActiveState'), 'active');
});

test('each unit waits for a disk that is mounted at the folder of the store', () => {
  for (const unit of ['plant-store', 'plant-store-litestream']) {
    const waited = run(`systemctl show --property=RequiresMountsFor --value ${unit}`);
    assert(waited.split(/\s+/).includes('/var/lib/plant-store/data'), waited);
    assert.doesNotMatch(waited, /backups/);
  }
});

test('the sandbox of each unit scores at most 1.5, and a crash leaves no core', () => {
  for (const unit of ['plant-store', 'plant-store-litestream']) {
    run(`systemd-analyze security --no-pager --threshold=15 ${unit}`);
    assert.equal(run(`systemctl show --property=LimitCORE --value ${unit}`), '0\n');
  }
});

test('doctor of root names the store of the package, and a line that runs commands on it, and other commands name doctor', () => {
  for (const command of ['plants count', 'open'])
    assert.match(
      run(`plant-store ${command} 2>&1 || true`),
      /no store at \/root.*; doctor finds that of a package/,
    );
  const said = run('plant-store doctor 2>&1 || true');
  assert.match(
    said,
    /no store at \/root.*has its store at \/var\/lib\/plant-store\/data\/plants\.db/,
  );
  const [, shell] = /"(runuser [^"]+) bash"/.exec(said) ?? [];
  assert.equal(run(`${shell} plant-store plants count`), '2\n');
});

test('systemd starts a killed service again', async () => {
  run('systemctl kill --signal=KILL plant-store');
  await until('test "$(systemctl show --property=NRestarts --value plant-store)" = 1');
  await until('systemctl is-active plant-store');
  assert.equal(create(1), firstPlant);
});

test('the watchdog of systemd ends a service that hangs, and starts the service again', async () => {
  run(`mkdir /run/systemd/system/plant-store.service.d
    printf '[Service]\\nWatchdogSec=2s\\n' > /run/systemd/system/plant-store.service.d/test.conf
    systemctl daemon-reload; systemctl restart plant-store`);
  run('kill -STOP "$(systemctl show --property=MainPID --value plant-store)"');
  await until('test "$(systemctl show --property=NRestarts --value plant-store)" = 1');
  await until('systemctl is-active plant-store');
  assert.equal(create(1), firstPlant);
});

/** In the place of certbot: files for root only behind links, and then the hook. */
const certbot = `
certbot() (
  cd "$(mktemp --directory)"
  openssl req -x509 -CA /root/authority.pem -CAkey /root/authority.key -subj /CN=garden -nodes \\
    -addext subjectAltName=DNS:plants.example.org -keyout privkey.pem -out fullchain.pem 2> /dev/null
  mkdir --parents --mode=700 /etc/letsencrypt/live/plant-store
  ln --symbolic --force "$PWD"/* /etc/letsencrypt/live/plant-store
  RENEWED_LINEAGE=/etc/letsencrypt/live/plant-store sh -c "\${@: -1}"
)
is_in_force() {
  issued=$(openssl x509 -in /etc/letsencrypt/live/plant-store/fullchain.pem -noout -serial)
  openssl s_client -connect 127.0.0.1:443 < /dev/null 2> /dev/null | openssl x509 -noout -serial | grep -x "$issued"
}`;

test('the commands of the page give the service port 443, what certbot writes, and each renewal', () => {
  run('openssl req -x509 -nodes -subj /CN=authority -keyout authority.key -out authority.pem 2>&1');
  const commands = blocksOf('docs/operate/tls.md').find(({ text }) => text.startsWith('certbot'));
  assert(commands);
  run(`${certbot}\n${commands.text}\nis_in_force`);
  assert.equal(create(1, 'https://plants.example.org', '--cacert authority.pem'), firstPlant);
  assert.throws(() => run('runuser --user plant-store -- cat /etc/letsencrypt/live/*/privkey.pem'));
  run('systemd-analyze security --no-pager --threshold=20 plant-store');
  const [renewal] = commands.text.split('\n');
  run(`${certbot}\n${renewal}\nis_in_force`);
  run(`rm /etc/systemd/system/plant-store.service.d/tls.conf
    systemctl daemon-reload; systemctl restart plant-store`);
});

test('the commands of the page for servers lead to tokens, probes and a verified backup', () => {
  const output = run(typed(blocksOf('docs/operate/server.md')));
  assert.match(output, /^ps_[A-Za-z0-9_-]{43}$/m);
  assert.match(output, /^nursery +create /m);
  assert.match(output, /^plant_store_/m);
  assert.match(output, /^plants +2$/m);
  assert.throws(() => create(1), /error: 401/);
  const backups = '/var/backups/plant-store';
  const made = Number(run(`ls ${backups}/*.db | wc -l`));
  assert(made >= 2, `the page made one backup, and the service another one: ${made}`);
});

test('the commands of the page of Litestream follow the store, and restore it', async (t) => {
  const why = whyNoLitestream();
  if (why !== undefined) return skipVisibly(t, why);
  copyFileSync(litestreamProgram, join(root, 'usr/bin/litestream'));
  const [setUp = '', , restore = ''] = blocksOf('docs/operate/litestream.md')
    .filter(({ language }) => language === 'bash')
    .map(({ text }) => text);
  run(setUp);
  const replica = '/var/backups/plant-store/replica';
  await until(`ls ${replica}/ltx/9/*.ltx 2> /dev/null`);
  // The last seconds come with the stop.
  run('systemctl stop plant-store-litestream plant-store');
  const before = asService('plants count');
  run('rm -r /var/lib/plant-store/data');
  const typed = restore.replaceAll('/mnt/replica', replica);
  run(`cd /var/lib/plant-store && runuser --user plant-store -- bash -euc '${typed}'`);
  run('systemctl start plant-store plant-store-litestream');
  assert.equal(asService('plants count'), before);
  run(`systemctl disable --now plant-store-litestream && rm -r ${replica}`);
});

test('a purge removes the service and its token, and keeps the plants and the backups', () => {
  run('dpkg --purge plant-store');
  assert(!existsSync(join(root, 'etc/plant-store')));
  assert(!existsSync(join(root, 'usr/bin/plant-store')));
  assert(existsSync(join(root, 'var/lib/plant-store/data/plants.db')));
  const backups = readdirSync(join(root, 'var/backups/plant-store'));
  assert(backups.some((file) => backups.includes(`${file}.manifest.json`)));
  assert.throws(() => run('systemctl is-active plant-store'));
});

/** What root types, and what the user of the service types in the shell that root opens. */
function typed(blocks: readonly Block[]): string {
  let shell = '';
  const steps = blocks
    .filter(({ language }) => language === 'sh')
    .map(({ text }) => {
      const [who = '', ...lines] = text.trimEnd().split('\n');
      if (/^runuser /.test(lines[0] ?? '')) shell = lines[0] ?? '';
      else if (who === '# root') return lines.join('\n');
      else if (who === '# plant-store') return `${shell} -eu <<'TYPED'\n${lines.join('\n')}\nTYPED`;
      return '';
    });
  return [curlThatFails, ...steps].join('\n');
}
