import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../helpers/program.ts';
import { skipVisibly } from '../helpers/skips.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/**
 * A machine to be set up: the files that the guide changes are copies, which no other process sees,
 * and the loopback address is this machine's own, so that the ports of the guide are free.
 */
const machine = `
  set -euo pipefail
  umask 022
  mkdir etc var opt opt/bin opt/plant-store bin
  cp -a /etc/. etc
  mkdir -p var/lib var/backups var/log var/tmp var/cache
  mount --bind /usr/local/bin opt/bin
  ln -s /opt/bin/* bin || true
  for name in bin src node_modules package.json; do
    if [ -d "$ROOT/$name" ]; then mkdir opt/plant-store/$name; else touch opt/plant-store/$name; fi
    mount --bind "$ROOT/$name" opt/plant-store/$name
  done
  mount --rbind opt /opt
  mount --bind var /var
  mount --bind etc /etc
  mount --bind bin /usr/local/bin
  ip link set lo up
  printed=$PWD/printed
  cd /
`;

/** Stands for systemd, which runs on a machine that has booted: does what the unit says. */
const systemd = `
  unit=/etc/systemd/system/plant-store.service
  said() { sed -n "s/^$1=//p" $unit; }
  systemctl() {
    case "$*" in
      daemon-reload) if type systemd-analyze > /dev/null; then systemd-analyze verify $unit; fi ;;
      'enable --now plant-store') start ;;
      'restart plant-store') kill $service && wait $service && start ;;
      *) return 1 ;;
    esac
  }
  start() {
    install -d -m "$(said StateDirectoryMode)" -o "$(said User)" -g "$(said User)" "/var/lib/$(said StateDirectory)"
    exec 3< <(cd "$(said WorkingDirectory)" && exec setpriv --reuid="$(said User)" --regid="$(said User)" --init-groups \\
      --pdeathsig=KILL env -i $(cat "$(said EnvironmentFile)") $(said ExecStart) 2>&1)
    service=$!
    sed '/"ready"/q' <&3
  }
  trap 'kill $service && wait $service' EXIT
  curl() { command curl --silent --show-error --fail-with-body "$@"; }
`;

/** What the guide has led to, seen from outside. */
const outcome = `
  token=$(grep --max-count=1 '^ps_' "$printed")
  curl http://127.0.0.1:8080/plants -H "Authorization: Bearer $token" -H 'Content-Type: application/json' -d '{"id":2,"name":"Yew"}'
  echo
  find /opt/plant-store /var -name node_modules -prune -o -name plants.db -print -o -name 'plants-*.db' -print
`;

interface Block {
  readonly language: string;
  readonly title: string;
  readonly text: string;
}

/**
 * The blocks of the guide, without their first line, which says who types them or which file they
 * are.
 */
function blocksOf(page: string): Block[] {
  const found = page.matchAll(/^```(\w+)\n(?:# ([^\n]*)\n)?(.*?)^```/gms);
  return [...found].map(([, language = '', title = '', text = '']) => ({ language, title, text }));
}

/** The guide as a script for root, in its own order. */
function scriptOf(blocks: readonly Block[]): string {
  let shell = '';
  const steps = blocks.map(({ language, title, text }) => {
    if (language === 'nginx') return '';
    if (title.startsWith('/'))
      return `cat > ${title} <<'FILE'\n${text}FILE\n${language === 'cron' ? runByCron(text) : ''}`;
    assert.match(
      title,
      /^(root|plant-store)$/,
      `a block says neither who types it nor which file it is: ${text}`,
    );
    if (title === 'plant-store')
      return `${shell} -eu >> "$printed" <<'TYPED'\n${curlAsShown}${text}TYPED\n`;
    if (!/^runuser /.test(text)) return `${text.replace(/^npm ci --omit=dev$/m, ':')}cd /\n`;
    shell = text.trim();
    return '';
  });
  return steps.join('\n');
}

const curlAsShown = 'curl() { command curl --silent --show-error --fail-with-body "$@"; }\n';

/**
 * As cron(8) does: the user of the line, in that user's home, with next to nothing in the
 * environment.
 */
function runByCron(table: string): string {
  const [, user, command = ''] = /^(?:\S+ ){5}(\S+) (.*)$/m.exec(table) ?? assert.fail(table);
  const environment = 'env -i HOME=$PWD SHELL=/bin/sh PATH=/usr/bin:/bin';
  return `(cd ~${user} && runuser --user ${user} -- ${environment} sh -c '${command}' >> "$printed")\n`;
}

test('the guide leads from an empty machine to one store, whose tokens are admitted and whose backups hold its plants', async (t) => {
  if (process.getuid?.() !== 0) return skipVisibly(t, 'only root can set a machine up');
  const isolated = ['--mount', '--net', 'bash', '-c'];
  const { status, stderr: why } = spawnSync('unshare', [...isolated, 'ip link set lo up'], {
    encoding: 'utf8',
  });
  if (status !== 0) return skipVisibly(t, `there can be no machine within this one: ${why}`);
  const folder = await temporaryFolder(t);
  chmodSync(folder, 0o755);
  const guide = scriptOf(blocksOf(readFileSync(join(root, 'docs/operate/install.md'), 'utf8')));
  const env = {
    ROOT: root,
    HOME: '/root',
    PATH: `/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:${process.env['PATH']}`,
  };

  const { stdout, stderr } = spawnSync(
    'unshare',
    [...isolated, [machine, systemd, guide, outcome, 'cat "$printed"'].join('\n')],
    {
      cwd: folder,
      env,
      encoding: 'utf8',
    },
  );

  assert.match(stdout, /^\{"name":"Yew"\}$/m, stderr);
  const stores = stdout.split('\n').filter((line) => /^\/.*plants.*\.db$/.test(line));
  assert.deepEqual(stores.map((path) => path.replace(/[0-9]{8}T[0-9]{6}Z/, 'TIME')).sort(), [
    '/var/backups/plant-store/plants-TIME.db',
    '/var/lib/plant-store/plants.db',
  ]);
  assert.deepEqual(
    stdout.match(/^plants +\d+$/gm)?.map((line) => line.replace(/ +/, ' ')),
    ['plants 1', 'plants 1', 'plants 1'],
  );
  assert.equal(
    stdout.match(/"store":"\/var\/lib\/plant-store\/plants.db","msg":"there was no store/g)?.length,
    1,
  );
  assert.match(stdout, /^first-start +create +revoked /m);
});
