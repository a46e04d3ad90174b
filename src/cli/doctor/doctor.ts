import { fetchKeys, IssuerError } from '../../access/jwt/issuer.ts';
import { limits } from '../../limits.ts';
import { command, type Terminal } from '../command.ts';
import { commandsOf } from '../engines.ts';
import { jwtFlags, jwtRules, tlsFlags } from '../flag-groups.ts';
import { hanging } from '../terminal/wrap.ts';
import { certificateFindings } from './certificate-check.ts';
import { error, type Finding, type NamedFinding, ok } from './check.ts';

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
    const ofIssuers = await Promise.all((jwtRules(values)?.issuers ?? []).map(issuerFinding));
    const findings = [
      ...(await commandsOf(values.store).check(terminal.userId)),
      ...(await certificateFindings(values)),
      ...ofIssuers.map((finding) => ({ name: 'issuer', ...finding })),
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

async function issuerFinding(issuer: string): Promise<Finding> {
  try {
    const reply = await fetchKeys(issuer, AbortSignal.timeout(limits.jwt.fetchMs));
    const body = (await reply.json().catch(() => undefined)) as { keys?: unknown } | undefined;
    const keys = Array.isArray(body?.keys) ? body.keys.length : 0;
    const found = `${issuer} has ${keys} keys`;
    return keys > 0
      ? ok(found)
      : error(found, 'every token is refused until the identity provider has a key');
  } catch (cause) {
    if (!(cause instanceof IssuerError)) throw cause;
    const remedy = 'tokens with an unknown key get 503 until the identity provider can be read';
    return error(cause.message, remedy);
  }
}
