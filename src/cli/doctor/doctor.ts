import { command, type Terminal } from '../command.ts';
import { commandsOf } from '../engines.ts';
import { jwtFlags, jwtRules } from '../jwt-rules.ts';
import { hanging } from '../terminal/wrap.ts';
import { tlsFlags } from '../tls-files.ts';
import { certificateFindings } from './certificate-check.ts';
import type { NamedFinding } from './check.ts';

export const doctor = command({
  positionals: [],
  summary:
    'Check the settings that are in force: of the store, its disk or database, and the process.',
  need: 'Use it before the first start on a machine, and when creates are slow or refused.',
  flags: ['store', ...tlsFlags, ...jwtFlags, 'json'],
  examples: [
    'plant-store doctor',
    'plant-store doctor --store sqlite:/var/lib/plant-store/plants.db',
    'plant-store doctor --store postgres://plants@db.example.org/plants',
  ],
  async run({ values }, terminal) {
    const findings = [
      ...(await commandsOf(values.store).check(terminal.userId)),
      ...(await certificateFindings(values)),
      ...(await issuerFindings(jwtRules(values)?.issuers ?? [])),
    ];
    if (values.json)
      for (const { level, name, says } of findings)
        terminal.print(JSON.stringify({ check: name, level, says }));
    else printFindings(findings, terminal);
    return findings.some(({ level }) => level === 'error') ? 1 : 0;
  },
});

const styles = { ok: undefined, warning: 'warning', error: 'bad' } as const;

function printFindings(findings: readonly NamedFinding[], { print, width }: Terminal): void {
  const levelChars = 'warning'.length;
  const nameChars = Math.max(...findings.map(({ name }) => name.length));
  for (const { level, name, says } of findings) {
    const title = `${level.padEnd(levelChars)}  ${name}`;
    const lines = hanging(title, says, levelChars + nameChars + 4, width === undefined);
    for (const line of lines) print(line, styles[level]);
  }
}

/** Most checks need none of this code. */
async function issuerFindings(issuers: readonly string[]): Promise<NamedFinding[]> {
  if (issuers.length === 0) return [];
  const { issuerFinding } = await import('./issuer-check.ts');
  return Promise.all(
    issuers.map(async (issuer) => ({ name: 'issuer', ...(await issuerFinding(issuer)) })),
  );
}
