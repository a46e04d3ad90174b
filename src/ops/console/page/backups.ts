import { useEffect, useRef, useState } from 'preact/hooks';
import { ageText, intervalText } from '../../../age-text.ts';
import { sizeText } from '../../../size-text.ts';
import type { BackupList, EndedJob, ListedBackup, PlannedJob, RunningJob } from '../../contract.ts';
import type { Api } from './api.ts';
import { type Column, Facts, Failure, Result, Skeleton, Table, When } from './components.ts';
import { count, lengthText } from './format.ts';
import { html } from './html.ts';
import { jobTexts } from './jobs.ts';
import { usePolling } from './requests.ts';

const everyMs = 2_000;
/** While a job runs. */
const everyRunningMs = 500;

export function Backups({ api }: { api: Api }) {
  const [isBusy, setBusy] = useState(false);
  const {
    answer: list,
    error,
    isStale,
    refresh,
  } = usePolling(api.backups, isBusy ? everyRunningMs : everyMs);
  const [failure, setFailure] = useState<Error | undefined>();
  const running = list?.running ?? null;
  useEffect(() => setBusy(running !== null), [running !== null]);
  const ask = (request: () => Promise<unknown>) => {
    setFailure(undefined);
    request().then(refresh, setFailure);
  };
  const backUp = () => ask(api.backUp);
  return html`
    ${list?.folder && html`<button class="beside main" disabled=${running !== null} onClick=${backUp}>Make a backup now</button>`}
    ${list?.folder && html`<p class="lead">In the folder <code>${list.folder}</code>. Each backup is checked when it is made.</p>`}
    <${Failure} error=${failure ?? (isStale && !list ? error : undefined)} />
    <${Job} list=${list} isStale=${isStale} onStop=${() => ask(api.stopJob)} />
    ${!list && !error && html`<${Skeleton} rows=${8} />`}
    ${list && (list.folder === null ? html`<${Off} plan=${list.plan} />` : html`<${Folder} list=${list} onVerify=${(file: string) => ask(() => api.verifyBackup(file))} />`)}`;
}

function Off({ plan }: { plan: readonly PlannedJob[] }) {
  return html`
    <p>This service makes no backups. Add a flag with a folder, if possible on another disk, to the command that starts the service:</p>
    <pre tabindex="0"><code>--backup-to /mnt/backups</code></pre>
    ${plan.length > 0 && html`<section class="card"><h2>Jobs of other processes</h2><${Facts} facts=${plan.map(({ name, last }) => [jobTexts[name].title, html`<${Last} last=${last} />`])} /></section>`}`;
}

interface FolderProps {
  readonly list: BackupList;
  readonly onVerify: (file: string) => void;
}

function Folder({ list, onVerify }: FolderProps) {
  const { backups, leftOut, fault, keep, plan, running } = list;
  const columns = columnsWith(onVerify, running !== null);
  const keyOf = ({ file }: ListedBackup) => file;
  return html`
    ${fault !== null && html`<p class="note bad" role="alert">${fault}</p>`}
    ${fault === null && backups.length === 0 && html`<p>There is no backup yet. The first one is made when the service has run for a second, or by the button above.</p>`}
    ${backups.length > 0 && html`<div class="backups"><${Table} caption="Backups, newest first" columns=${columns} rows=${backups} rowKey=${keyOf} /></div>`}
    ${leftOut > 0 && html`<p>Older backups that are not in this list: ${count(leftOut)}.</p>`}
    <section class="card"><h2>Schedule</h2>
      <${Facts} facts=${[...plan.map(planFact), ['Kept', html`<${Kept} keep=${keep} />`]]} />
    </section>`;
}

function planFact({ name, everySeconds, dueAt, last }: PlannedJob) {
  const next = html`every ${everySeconds === null ? '' : intervalText(everySeconds * 1_000)}, next <${Due} dueAt=${dueAt} />`;
  const how = everySeconds === null ? html`<span class="quiet">turned off</span>` : next;
  return [jobTexts[name].title, html`${how}<br /><${Last} last=${last} />`];
}

function Due({ dueAt }: { dueAt: string | null }) {
  if (dueAt === null) return html`after the first backup`;
  return Date.parse(dueAt) <= Date.now() ? html`now` : html`<${When} time=${dueAt} />`;
}

/** The last run, and why it has failed. */
function Last({ last }: { last: PlannedJob['last'] }) {
  if (last === null) return html`<span class="quiet">has not run yet</span>`;
  if (last.fault === null)
    return html`<span class="badge good">done</span> <${When} time=${last.ranAt} />, took ${lengthText(last.tookSeconds ?? 0)}`;
  return html`<span class="badge bad">failed</span> <${When} time=${last.ranAt} />: ${last.fault}`;
}

const hourMs = 3_600_000;
const unitMs: Readonly<Record<string, number>> = {
  ...{ ms: 1, s: 1_000, m: 60_000, h: hourMs, d: 24 * hourMs, w: 168 * hourMs, y: 8_760 * hourMs },
};

/** `1d:1h,30d:1d` as the flag takes it, in words. */
function Kept({ keep }: { keep: string | null }) {
  const rules = (keep ?? '').split(',').map((rule) => {
    const [within = 0, every = 0] = rule.split(':').map((text) => {
      return Number.parseInt(text, 10) * (unitMs[text.replace(/^\d+/, '')] ?? 0);
    });
    return `of the last ${intervalText(within)} one every ${intervalText(every)}`;
  });
  return html`${rules.join('; ')}; and the newest`;
}

function columnsWith(
  onVerify: (file: string) => void,
  isBusy: boolean,
): readonly Column<ListedBackup>[] {
  const verify = ({ file }: ListedBackup) =>
    html`<button class="small" disabled=${isBusy} aria-label=${`Verify ${file}`} onClick=${() => onVerify(file)}>Verify</button>`;
  const links = ({ file }: ListedBackup) => html`
    <a href=${downloadOf(file)} download="" aria-label=${`Download file ${file}`}>file</a>
    ${' '}<a href=${downloadOf(`${file}.manifest.json`)} download="" aria-label=${`Download manifest of ${file}`}>manifest</a>`;
  return [
    {
      head: 'Made',
      isTime: true,
      cell: ({ createdAt, file }) =>
        html`<${When} time=${createdAt} /> <code class="exact">${file}</code>`,
    },
    {
      head: 'Kind',
      cell: ({ base }) =>
        base === null ? 'full' : html`<span title=${`Needs ${base}`}>increment</span>`,
    },
    {
      head: 'Plants',
      cell: ({ plants }) => (plants === null ? '–' : count(plants)),
      isNumber: true,
    },
    {
      head: 'Size',
      cell: ({ bytes }) => (bytes === null ? '–' : sizeText(bytes)),
      isNumber: true,
    },
    { head: 'Verified', isTime: true, cell: (backup) => html`<${Verified} backup=${backup} />` },
    { head: 'Check', cell: verify },
    { head: 'Download', cell: links },
  ];
}

function downloadOf(file: string): string {
  return `/api/backups/${encodeURIComponent(file)}/download`;
}

function Verified({ backup: { fault, checkedAt } }: { backup: ListedBackup }) {
  const when = html`<${When} time=${checkedAt} />`;
  if (fault === null) return html`<span class="badge good">sound</span> ${when}`;
  return html`<span class="badge bad">damaged</span> ${when} <span class="exact">${fault}</span>`;
}

interface JobProps {
  readonly list: BackupList | undefined;
  readonly isStale: boolean;
  readonly onStop: () => void;
}

/**
 * The job that runs, and how the last one has ended: until an operator begins another. Screen readers
 * hear of each step, not of each plant.
 */
function Job({ list, isStale, onStop }: JobProps) {
  const { running = null, ended = null } = list ?? {};
  const first = useRef<string | null | undefined>(undefined);
  if (list && first.current === undefined) first.current = ended?.endedAt ?? null;
  const isNews = ended !== null && !running?.operator && ended.endedAt !== first.current;
  const tone = isNews && ended.outcome === 'failed' ? 'bad' : '';
  return html`
    ${running && html`<${Running} running=${running} isStale=${isStale} onStop=${onStop} />`}
    <span class="unseen" role="status">${running && `${titleOf(running)}: ${running.step}`}</span>
    <${Result} tone=${tone}>${isNews && endText(ended, list?.keep ?? null)}<//>`;
}

function titleOf({ job, file }: Pick<RunningJob, 'job' | 'file'>): string {
  return file === null ? jobTexts[job].doing : `${jobTexts[job].doing} ${file}`;
}

/** A backup and a check are only done if the backup is sound. */
function endText({ job, file, outcome, fault, removed }: EndedJob, keep: string | null) {
  const name = `The ${jobTexts[job].title.toLowerCase()}`;
  const what = file === null ? name : `${name} of ${file}`;
  if (outcome === 'failed') return `${what} has failed: ${fault}`;
  if (outcome === 'stopped') return `${what} was stopped.`;
  if (job === 'verify') return `${what} is done: the backup is sound.`;
  if (job !== 'backup') return `${what} is done.`;
  const backups = removed === 1 ? '1 older backup was' : `${count(removed)} older backups were`;
  const others =
    removed > 0 && html` ${backups} removed: the service keeps <${Kept} keep=${keep} />.`;
  return html`The backup is done, and is sound.${others}`;
}

interface RunningProps {
  readonly running: RunningJob;
  readonly isStale: boolean;
  readonly onStop: () => void;
}

function Running({ running, isStale, onStop }: RunningProps) {
  const { operator, startedAt, isStopping, step, standing } = running;
  const title = titleOf(running);
  const by = operator === null ? 'by the schedule' : html`by ${operator}`;
  const share = standing ? { max: standing.total, value: standing.done } : {};
  return html`
    <section class="card ${isStale ? 'stale' : ''}">
      <h2>${title}</h2>
      <progress aria-label=${title} ...${share}></progress>
      <div class="actions spread">
        <p>${isStopping ? 'stopping' : step}${standing && `: ${standingText(standing)}`} <span class="quiet">started ${by}, <${When} time=${startedAt} /></span></p>
        <button class="small" disabled=${isStopping} onClick=${onStop}>Stop</button>
      </div>
    </section>`;
}

function standingText({ done, total, unit, secondsLeft }: NonNullable<RunningJob['standing']>) {
  const text = unit === 'bytes' ? sizeText : (plants: number) => `${count(plants)} plants`;
  const left = secondsLeft === null ? '' : `, about ${ageText(secondsLeft * 1_000)} left`;
  return `${text(done)} of ${text(total)}${left}`;
}
