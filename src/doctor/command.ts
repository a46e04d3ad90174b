import { X509Certificate } from 'node:crypto';
import { constants } from 'node:fs';
import { resolve } from 'node:path';
import { getCACertificates, rootCertificates } from 'node:tls';
import { earlierStore } from '../backup/earlier-store.ts';
import { CommandError, command, type Terminal } from '../cli/command.ts';
import type { Values } from '../cli/flags/flags.ts';
import { jwtFlags, jwtRules, type TlsFiles, tlsFiles, tlsFlags } from '../cli/flags/groups.ts';
import { hanging } from '../cli/terminal/wrap.ts';
import { limits } from '../limits.ts';
import type { Finding, NamedFinding } from '../ops/contract.ts';
import { dayMs } from '../quantity-text.ts';
import { resolveEngine } from '../store/engine.ts';
import { engineOf } from '../store/engines.ts';
import { StoreError, StoreOpenError } from '../store/errors.ts';
import { fetchKeys, IssuerError } from '../tokens/jwt/issuer.ts';
import { checkPostgres } from './postgres.ts';
import { checkSqlite } from './sqlite.ts';
import { error, isAllowed, named, ok, warning } from './start.ts';

export const doctor = command({
  positionals: [],
  summary:
    'Check the settings that are in force, the store, its disk or database, and the process.',
  need: 'Use it before the first start on a machine, and when creates are slow or refused.',
  flags: ['store', 'backup-to', ...tlsFlags, ...jwtFlags, 'json'],
  examples: [
    'plant-store doctor',
    'plant-store doctor --store sqlite:/var/lib/plant-store/plants.db',
    'plant-store doctor --store postgres://plants@db.example.org/plants',
  ],
  async run({ values }, terminal) {
    const ofIssuers = await Promise.all((jwtRules(values)?.issuers ?? []).map(issuerFinding));
    const ofStore = await resolveEngine<Promise<NamedFinding[]>>(
      {
        sqlite: (file) => checkSqlite(file, terminal.userId),
        postgres: (database) => checkPostgres(database, terminal.userId),
      },
      values.store,
    );
    const lost = await lostStore(values);
    const findings = [
      ...ofStore.map((finding) => (finding.name === 'schema' ? (lost ?? finding) : finding)),
      ...named({ backups: folderOfBackups(values['backup-to']) }),
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

/** The start of a service would refuse to make a store there. */
async function lostStore({
  store,
  'backup-to': backups,
}: Values<'store' | 'backup-to'>): Promise<NamedFinding | undefined> {
  try {
    if (await engineOf(store).isThere()) return undefined;
  } catch (cause) {
    if (!(cause instanceof StoreError || cause instanceof StoreOpenError)) throw cause;
    // The other checks have told why it cannot be opened.
    return undefined;
  }
  const found = await earlierStore(store, backups);
  return found && { name: 'schema', ...error(found.says, found.remedy) };
}

/** A service starts without the folder: creates must not wait for the disk of the backups. */
function folderOfBackups(folder: string | undefined): Finding | undefined {
  if (folder === undefined) return undefined;
  const path = resolve(folder);
  const found = `backups go to ${path}`;
  return isAllowed(path, constants.W_OK | constants.X_OK)
    ? ok(found)
    : error(
        `${found}, which is no folder that this user can write to`,
        'make the folder, mount its disk, or give it to the user',
      );
}

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
    const { keys } = await fetchKeys(issuer);
    const found = `${issuer} has ${keys.length} keys`;
    return keys.length > 0
      ? ok(found)
      : error(found, 'every token is refused until the identity provider has a key');
  } catch (cause) {
    if (!(cause instanceof IssuerError)) throw cause;
    const remedy = 'tokens with an unknown key get 503 until the identity provider can be read';
    return error(cause.message, remedy);
  }
}

async function certificateFindings(
  values: Parameters<typeof tlsFiles>[0],
): Promise<NamedFinding[]> {
  const found: Record<string, Finding | undefined> = {};
  for (const prefix of ['', 'ops-'] as const) {
    const files = tlsFiles(values, prefix);
    if (files === undefined) continue;
    const { certificate, key } = await findingsIn(files, Date.now());
    Object.assign(found, { [`${prefix}certificate`]: certificate, [`${prefix}key`]: key });
  }
  return named(found);
}

async function findingsIn(
  files: TlsFiles,
  nowMs: number,
): Promise<{ readonly certificate: Finding; readonly key?: Finding | undefined }> {
  const { readCertificate } = await import('../serve/certificate.ts');
  try {
    const { names, expiresAtMs, chain, warning: says } = await readCertificate(files, nowMs);
    const until = new Date(expiresAtMs).toISOString();
    const found = `${files.certificate} is for ${names}, and expires at ${until}`;
    return {
      certificate: certificateFinding(files.certificate, found, chain, expiresAtMs - nowMs),
      key: says === undefined ? undefined : { level: 'warning', says },
    };
  } catch (cause) {
    if (!(cause instanceof CommandError)) throw cause;
    return { certificate: error(cause.message, 'the service does not start with these files') };
  }
}

function certificateFinding(
  file: string,
  found: string,
  chain: readonly X509Certificate[],
  leftMs: number,
): Finding {
  const missing = missingIssuer(chain);
  if (missing !== undefined)
    return warning(
      `${file} lacks the certificate of its issuer, ${missing}`,
      'append it, or name a file that has both (fullchain.pem of certbot), unless each client ' +
        'trusts this issuer itself',
    );
  return leftMs < limits.tls.expiryWarningDays * dayMs
    ? warning(found, 'renew the certificate; the service takes up a new file by itself')
    : ok(found);
}

/** The issuer, if it is neither in the file nor an authority that this machine trusts. */
function missingIssuer([certificate, ...others]: readonly X509Certificate[]): string | undefined {
  const isIssuer = (other: X509Certificate) => certificate?.checkIssued(other);
  if (certificate === undefined || [certificate, ...others].some(isIssuer)) return undefined;
  const trusted = [...rootCertificates, ...getCACertificates('system')];
  if (trusted.some((authority) => isIssuer(new X509Certificate(authority)))) return undefined;
  return certificate.issuer.replaceAll('\n', ', ');
}
