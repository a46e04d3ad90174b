import { problems } from '../../../contract/problems.ts';
import { limits } from '../../../limits.ts';
import type { Limited, Overview, RefusedOnly } from '../../contract.ts';
import { ExactText } from './components.ts';
import { count, distance } from './format.ts';
import { type Children, html } from './html.ts';
import { jobTexts } from './jobs.ts';
import { refusalsOf, tokenPath } from './router.ts';

/** What an operator should look at now, above all charts. Nothing, if all is well. */
export function Attention({ overview }: { overview: Overview }) {
  const matters = mattersOf(overview);
  if (matters.length === 0) return null;
  return html`<ul class="note changed attention" aria-label="Needs attention">${matters.map((matter) => html`<li>${matter}</li>`)}</ul>`;
}

function mattersOf({
  checks,
  backup,
  store,
  jobs,
  limited,
  endedInUse,
  refusedOnly,
  expiringTokens,
}: Overview): Children[] {
  const expiring = expiringTokens.filter(({ isRotated }) => !isRotated);
  const rotated = expiringTokens.filter(({ isRotated }) => isRotated);
  return [
    ...checks
      .filter(({ level }) => level !== 'ok')
      .map(({ name, says }) => html`<b>${name}</b>: ${says}`),
    backupMatter({ backup, store }),
    ...jobs
      .filter(({ fault }) => fault !== null)
      .map(
        ({ name, fault, ranAt }) =>
          html`The last <a href="#/backups">${jobTexts[name].title.toLowerCase()}</a> has failed, ${distance(ranAt)}: ${fault}`,
      ),
    expiring.length > 0 &&
      html`${expiring.length === 1 ? '1 token expires' : `${count(expiring.length)} tokens expire`} soon: <${Ends} tokens=${expiring} />`,
    rotated.length > 0 &&
      html`${rotated.length === 1 ? '1 old secret in use ends' : `${count(rotated.length)} old secrets in use end`} soon: <${Ends} tokens=${rotated} />. ${rotated.length === 1 ? 'Its' : 'Their'} clients must move to the new secret.`,
    limited.length > 0 &&
      html`${clientsText(limited)} over the rate in the last minute: <${Clients} clients=${limited} code=${problems.rateLimited.code} />.`,
    endedInUse.length > 0 &&
      html`${clientsText(endedInUse)} refused in the last minute with a revoked or expired secret: <${Clients} clients=${endedInUse} code=${problems.tokenInvalid.code} />.`,
    refusedOnly.length > 0 &&
      html`${clientsText(refusedOnly)} refused each time since the start: <${Clients} clients=${refusedOnly} />.`,
  ].filter((matter) => matter !== false);
}

function Ends({ tokens }: { tokens: Overview['expiringTokens'] }) {
  return tokens.map(
    ({ name, expiresAt }, index) =>
      html`${index > 0 && ', '}<a href=${tokenPath(name)}><${ExactText} text=${name} /></a> ${distance(expiresAt)}`,
  );
}

function clientsText(clients: readonly Limited[]): string {
  return clients.length === 1 ? '1 client was' : `${count(clients.length)} clients were`;
}

const namedMax = 3;

interface ClientsProps {
  clients: readonly (Limited & Partial<RefusedOnly>)[];
  /** Of the refusals that the links lead to; all refusals without. */
  code?: number;
}

function Clients({ clients, code }: ClientsProps) {
  const links = clients
    .slice(0, namedMax)
    .map(
      ({ name, codes }, index) =>
        html`${index > 0 && ', '}<a href=${refusalsOf(name, code)}><${ExactText} text=${name} /></a>${codes && ` (${codes.join(', ')})`}`,
    );
  const others = clients.length - links.length;
  return html`${links}${others > 0 && ` and ${count(others)} more`}`;
}

/** A database may have backups that the store does not know of. */
function backupMatter({ backup, store }: Pick<Overview, 'backup' | 'store'>) {
  const mayHaveOthers = store.logBytes === undefined;
  if (backup === null)
    return (
      !mayHaveOthers &&
      (store.plants ?? 0) > 0 &&
      html`This store has no verified <a href="#/backups">backup</a>.`
    );
  if (backup.plants === 0 && (store.plants ?? 0) > 0)
    return html`The last verified <a href="#/backups">backup</a> has no plants, and the store has.`;
  if (backup.isFileGone && !mayHaveOthers)
    return html`The file of the last verified <a href="#/backups">backup</a> is no longer there.`;
  return (
    isBackupOld(backup.finishedAt) &&
    html`The last verified <a href="#/backups">backup</a> was made ${distance(backup.finishedAt)}.`
  );
}

export function isBackupOld(finishedAt: string): boolean {
  return Date.now() - Date.parse(finishedAt) > limits.cli.backupAgeMs;
}
