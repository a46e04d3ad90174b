import { type ProblemName, problems } from '../../contract/problems.ts';
import { limits } from '../../limits.ts';
import { distanceText, isoTime, numberText } from '../../quantity-text.ts';
import type { TokenRecord } from '../../store/tables/tokens.ts';
import { expiresSoon } from '../../tokens/opaque-tokens.ts';
import type { LastRun, LinkedFinding, Overview } from '../contract.ts';
import { refusedIn, type TokenFigureTable } from '../token-figures.ts';

export interface Watched extends Pick<Overview, 'checks' | 'store' | 'backup' | 'creates'> {
  readonly lastRun: LastRun | null;
  /** Those in force. */
  readonly tokens: readonly TokenRecord[];
  readonly tokenFigures: TokenFigureTable;
}

const weights: readonly LinkedFinding['level'][] = ['error', 'warning', 'note'];

/** What needs an operator's attention: first what plants suffer from, last what clients do. */
export function findingsIn(watched: Watched, nowMs: number): readonly LinkedFinding[] {
  return [
    ...findingsOfStore(watched),
    ...findingsOfBackups(watched, nowMs),
    ...findingsOfTokens(watched, nowMs),
    ...findingsOfClients(watched.tokenFigures, nowMs),
  ].toSorted((one, other) => weights.indexOf(one.level) - weights.indexOf(other.level));
}

function findingsOfStore({ checks, creates }: Watched): LinkedFinding[] {
  const failed = creates.failed.lastMinute;
  const ofChecks = checks.flatMap(({ name, level, says }): LinkedFinding[] =>
    level === 'ok' ? [] : [{ level, says: `${name}: ${says}`, page: null }],
  );
  const failures = failed === 0 ? [] : [numberText(failed)];
  return [
    ...ofChecks,
    ...listed('error', [['Creates that failed in the last minute', failures, '/refusals']]),
  ];
}

function findingsOfBackups({ lastRun, ...watched }: Watched, nowMs: number): LinkedFinding[] {
  const failure =
    lastRun?.fault &&
    `The last backup failed ${distanceText(lastRun.ranAt, nowMs)}: ${lastRun.fault}`;
  const found = [
    { level: 'error', says: failure },
    { level: 'warning', says: backupSays(watched, nowMs) },
  ] as const;
  return found.flatMap(({ level, says }) => (says ? [{ level, says, page: '/backups' }] : []));
}

/** A database may have backups that the store does not know of. */
function backupSays(
  { backup, store }: Pick<Watched, 'backup' | 'store'>,
  nowMs: number,
): string | undefined {
  const mayHaveOthers = store.logBytes === undefined;
  const hasPlants = (store.plants ?? 0) > 0;
  if (backup === null)
    return hasPlants && !mayHaveOthers ? 'This store has no verified backup' : undefined;
  if (backup.plants === 0 && hasPlants)
    return 'The last verified backup has no plants, and the store has some';
  if (backup.isFileGone) return 'The file of the last verified backup is no longer there';
  const isOld = nowMs - Date.parse(backup.finishedAt) > limits.ops.backupAgeMs;
  return isOld
    ? `The last verified backup was made ${distanceText(backup.finishedAt, nowMs)}`
    : undefined;
}

function findingsOfTokens({ tokens }: Watched, nowMs: number): LinkedFinding[] {
  const soon = tokens
    .filter((token) => expiresSoon(token, nowMs))
    .toSorted((one, other) => Number(one.expiresAtMs) - Number(other.expiresAtMs));
  const ends = (isOld: boolean) =>
    soon
      .filter(({ rotatedAtMs }) => (rotatedAtMs !== undefined) === isOld)
      .map(
        ({ name, expiresAtMs }) => `${name} ${distanceText(isoTime(Number(expiresAtMs)), nowMs)}`,
      );
  return listed('warning', [
    ['Tokens that expire soon', ends(false), '/tokens'],
    ['Old secrets that end soon and are in use', ends(true), '/tokens'],
  ]);
}

function findingsOfClients(figures: TokenFigureTable, nowMs: number): LinkedFinding[] {
  const isRecent = (atMs = 0) => nowMs - atMs <= limits.ops.talliesMs;
  const all = figures.all();
  const recent = (problem: ProblemName) =>
    all.filter(({ refusals }) => isRecent(refusals.get(problem)?.lastAtMs)).map(({ name }) => name);
  // Those of revoked and expired tokens have a line of their own.
  const refusedOnly = all
    .filter(({ created, same, lastUsedAtMs }) => created + same === 0 && isRecent(lastUsedAtMs))
    .toSorted((one, other) => refusedIn(other) - refusedIn(one))
    .flatMap(({ name, refusals }) => {
      const codes = [...refusals.keys()]
        .filter((problem) => problem !== 'tokenInvalid')
        .map((problem) => problems[problem].code);
      return codes.length === 0 ? [] : [`${name} (${codes.join(', ')})`];
    });
  const pageOf = (problem: ProblemName) => `/refusals?code=${problems[problem].code}`;
  return listed('note', [
    ['Over the rate in the last minute', recent('rateLimited'), pageOf('rateLimited')],
    [
      'Refused in the last minute with a revoked or expired secret',
      recent('tokenInvalid'),
      pageOf('tokenInvalid'),
    ],
    ['Every request refused since the start', refusedOnly, '/refusals'],
  ]);
}

/** Without those that name no token. */
function listed(
  level: LinkedFinding['level'],
  all: readonly (readonly [about: string, names: readonly string[], page: string])[],
): LinkedFinding[] {
  return all.flatMap(([about, names, page]) =>
    names.length === 0 ? [] : [{ level, says: `${about}: ${shortList(names)}`, page }],
  );
}

function shortList(names: readonly string[]): string {
  const { attentionNamesMax } = limits.ops;
  const shown = names.slice(0, attentionNamesMax).join(', ');
  const more = names.length - attentionNamesMax;
  return more > 0 ? `${shown} and ${more} more` : shown;
}
