import { spawnSync } from 'node:child_process';

// Fails when an advisory is known for a package that the project depends on. `npm audit` itself
// fails as well where it cannot ask, and a developer without a network has done nothing wrong:
// there this says so and passes.

const { stdout } = spawnSync('npm', ['audit', '--json'], {
  encoding: 'utf8',
  shell: process.platform === 'win32',
});
const { vulnerabilities, message, error } = JSON.parse(stdout || '{}');

if (vulnerabilities === undefined) {
  console.log(
    `npm audit: SKIPPED, because the registry gave no advisories (${message ?? error?.summary ?? 'no answer'})`,
  );
} else {
  for (const { name, severity, range, via } of Object.values<Record<string, unknown>>(
    vulnerabilities,
  )) {
    console.error(`npm audit: ${name} ${range} (${severity}): ${JSON.stringify(via)}`);
  }
  const count = Object.keys(vulnerabilities).length;
  console.log(
    `npm audit: ${count === 0 ? 'no known advisories' : `advisories for ${count} packages`}`,
  );
  process.exitCode = count === 0 ? 0 : 1;
}
