import { ageText, intervalText } from '../../../age-text.ts';
import type { BackupList, Job, PlannedJob, RunningJob } from '../../../ops/contract.ts';
import { sizeText } from '../../../size-text.ts';
import type { Fact } from '../../terminal/facts.ts';
import { clockText, numberText } from '../../terminal/progress.ts';
import { timeAndAge } from './figures.ts';

type Schedule = ReturnType<typeof scheduleOf>;

/** @returns null for a service that runs no jobs */
export function scheduleOf({ folder, fault, keep, plan, running }: BackupList) {
  return folder === null ? null : { folder, fault, keep, plan, running };
}

interface Scheduled {
  readonly schedule: Schedule;
  /** The last runs, also by other processes. */
  readonly jobs: readonly Job[];
}

export function scheduleFacts({ schedule, jobs }: Scheduled): Fact[] {
  if (schedule === null) {
    const others = jobs.map((job): Fact => [`last ${job.name}`, lastText(job)]);
    const none: Fact = ['schedule', 'none; a service with --backup-to FOLDER makes backups'];
    return [none, ...others.filter(([name]) => name !== 'last backup')];
  }
  const { folder, fault, keep, plan, running } = schedule;
  return [
    ['backups to', fault === null ? folder : `${folder}: ${fault}`],
    ...(keep === null ? [] : [['backups kept', `by --backup-keep ${keep}`] as const]),
    ...(running === null ? [] : [['runs now', runningText(running)] as const]),
    ...plan.map(
      (job): Fact => [`next ${job.name}`, `${nextText(job, running)}; ${lastText(job.last)}`],
    ),
  ];
}

function nextText({ name, everySeconds, dueAt }: PlannedJob, running: RunningJob | null): string {
  if (everySeconds === null) return 'turned off';
  const every = `every ${intervalText(everySeconds * 1_000)}`;
  if (running?.job === name) return `it runs now, ${every}`;
  if (dueAt === null) return `after the first backup, ${every}`;
  if (Date.parse(dueAt) <= Date.now()) return `as soon as no other job runs, ${every}`;
  return `${timeAndAge(dueAt)}, ${every}`;
}

function lastText(last: Job | null): string {
  if (last === null) return 'it has not run yet';
  const { succeededAt, tookSeconds } = last;
  if (succeededAt === null) return 'it has never succeeded';
  return `the last success was ${timeAndAge(succeededAt)}, and took ${lengthText(tookSeconds ?? 0)}`;
}

function runningText({ job, file, operator, startedAt, isStopping, ...now }: RunningJob): string {
  const { step, standing } = now;
  return [
    `${job}${file === null ? '' : ` of ${file}`}: ${isStopping ? 'stopping' : step}`,
    ...(standing === null ? [] : [standingText(standing)]),
    `since ${timeAndAge(startedAt)}`,
    ...(operator === null ? [] : [`for ${operator}`]),
  ].join(', ');
}

function standingText({ done, total, unit, secondsLeft }: NonNullable<RunningJob['standing']>) {
  const text = (value: number) => (unit === 'bytes' ? sizeText(value) : numberText(value));
  const left = secondsLeft === null ? '' : `, ${clockText(secondsLeft * 1_000)} left`;
  return `${text(done)} of ${text(total)}${unit === 'plants' ? ' plants' : ''}${left}`;
}

/** From two minutes on as an age. */
function lengthText(seconds: number): string {
  return seconds < 120 ? `${Number(seconds.toPrecision(3))} s` : ageText(seconds * 1_000);
}
