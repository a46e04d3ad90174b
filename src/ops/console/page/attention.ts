import { problems } from '../../../contract/problems.ts';
import { limits } from '../../../limits.ts';
import type { Crash, Limited, Minute, Overview, RefusedOnly } from '../../contract.ts';
import { failuresIn, gapsIn, minutesWithoutService } from '../../history-figures.ts';
import { ExactText } from './components.ts';
import { count, distance, minuteClock } from './format.ts';
import { type Children, html } from './html.ts';
import { jobTexts } from './jobs.ts';
import { historyPath, refusalsOf, tokenPath } from './router.ts';

/** What an operator should look at now, above all charts. Nothing, if all is well. */
export function Attention({ overview, minutes, crashes }: AttentionProps) {
  const matters = mattersOf(overview, minutes, crashes);
  if (matters.length === 0) return null;
  const title = matters.length === 1 ? '1 thing needs' : `${count(matters.length)} things need`;
  return html`
    <div class="note changed attention">
      <h2>${title} attention</h2>
      <ul aria-label="Needs attention">${matters.map((matter) => html`<li>${matter}</li>`)}</ul>
    </div>`;
}

interface AttentionProps {
  readonly overview: Overview;
  /** Of the last 24 hours. */
  readonly minutes: readonly Minute[];
  readonly crashes: readonly Crash[];
}

/** What clients or plants suffer from comes first. */
function mattersOf(
  overview: Overview,
  minutes: readonly Minute[],
  crashes: readonly Crash[],
): Children[] {
  return [
    ...mattersOfStore(overview),
    ...mattersOfDay(minutes, crashes),
    ...mattersOfClients(overview),
  ].filter((matter) => matter !== false);
}

function mattersOfStore({ checks, backup, store, jobs }: Overview): Children[] {
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
  ];
}

function mattersOfDay(minutes: readonly Minute[], crashes: readonly Crash[]): Children[] {
  const failures = failuresIn(minutes);
  const without = minutesWithoutService(minutes);
  const gaps = gapsIn(minutes);
  return [
    failures !== undefined &&
      html`<a href=${historyPath({ code: 'failed' })}>${failures.requests === 1 ? '1 request has' : `${count(failures.requests)} requests have`} failed</a> in the last 24 hours, the last at ${minuteClock(failures.lastMs)}${failures.names.length > 0 && html`: of <${Names} names=${failures.names} />`}.`,
    crashes.length > 0 &&
      html`A crash, a kill or a power cut <a href=${historyPath({})}>has ended the service</a> after ${crashes
        .slice(-namedMax)
        .map(({ lastMs }) => minuteClock(lastMs))
        .join(', ')}.`,
    without > 0 &&
      html`<a href=${historyPath({})}>No service ran</a> for ${without === 1 ? '1 minute' : `${count(without)} minutes`} of the last 24 hours: ${gaps
        .slice(-namedMax)
        .map(({ fromMs, toMs }) => `${minuteClock(fromMs)}–${minuteClock(toMs)}`)
        .join(
          ', ',
        )}${gaps.length > namedMax && ` and ${count(gaps.length - namedMax)} earlier times`}.`,
  ];
}

function Names({ names }: { names: readonly string[] }) {
  const more = names.length - namedMax;
  return html`${names.slice(0, namedMax).map((name, index) => html`${index > 0 && ', '}<a href=${historyPath({ token: name, code: 'failed' })}><${ExactText} text=${name} /></a>`)}${more > 0 && ` and ${count(more)} more`}`;
}

function mattersOfClients({
  limited,
  endedInUse,
  refusedOnly,
  expiringTokens,
}: Overview): Children[] {
  const expiring = expiringTokens.filter(({ isRotated }) => !isRotated);
  const rotated = expiringTokens.filter(({ isRotated }) => isRotated);
  return [
    expiring.length > 0 &&
      html`${expiring.length === 1 ? '1 token expires' : `${count(expiring.length)} tokens expire`} soon: <${Ends} tokens=${expiring} />.`,
    rotated.length > 0 &&
      html`${rotated.length === 1 ? '1 old secret in use ends' : `${count(rotated.length)} old secrets in use end`} soon: <${Ends} tokens=${rotated} />. ${rotated.length === 1 ? 'Its' : 'Their'} clients must move to the new secret.`,
    limited.length > 0 &&
      html`${clientsText(limited)} over the rate in the last minute: <${Clients} clients=${limited} code=${problems.rateLimited.code} />.`,
    endedInUse.length > 0 &&
      html`${clientsText(endedInUse)} refused in the last minute with a revoked or expired secret: <${Clients} clients=${endedInUse} code=${problems.tokenInvalid.code} />.`,
    refusedOnly.length > 0 &&
      html`${clientsText(refusedOnly)} refused each time since the start: <${Clients} clients=${refusedOnly} />.`,
  ];
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

/** The page of tokens has all. */
const namedMax = 10;

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
  return html`${links}${others > 0 && html` and <a href="#/tokens">${count(others)} more</a>`}`;
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
  if (Date.parse(backup.finishedAt) > Date.now() + limits.store.clocksApartMs)
    return html`The last verified <a href="#/backups">backup</a> is in the future (${distance(backup.finishedAt)}): the clock was ahead, or is behind.`;
  return (
    isBackupOld(backup.finishedAt) &&
    html`The last verified <a href="#/backups">backup</a> was made ${distance(backup.finishedAt)}.`
  );
}

export function isBackupOld(finishedAt: string): boolean {
  return Date.now() - Date.parse(finishedAt) > limits.cli.backupAgeMs;
}
