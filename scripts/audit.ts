import { spawnSync } from 'node:child_process';

// Fails on a known advisory for a package of the project. `npm audit` also fails without a network.
// This script then passes, and says that it skipped the check.

const { stdout } = spawnSync('npm', ['audit', '--json'], {
  encoding: 'utf8',
  shell: process.platform === 'win32',
});
const { vulnerabilities } = JSON.parse(stdout || '{}');
const names = Object.keys(vulnerabilities ?? {});
if (vulnerabilities === undefined)
  console.log(`npm audit: SKIPPED, because the registry gave no advisories`);
if (names.length > 0) {
  console.error(`npm audit: advisories for ${names}: run npm audit`);
  process.exitCode = 1;
}
