import { userInfo } from 'node:os';
import { CommandError, command } from '../cli/command.ts';
import { UsageError } from '../cli/flags/values.ts';
import type { Column } from '../cli/terminal/table.ts';
import { limits } from '../limits.ts';
import { distanceText, isoTime, rateText, typedRate } from '../quantity-text.ts';
import { engineOf, openToChange } from '../store/engines.ts';
import type { StoreLocation } from '../store/location.ts';
import type { Store } from '../store/store.ts';
import type { TokenRecord } from '../store/tables/tokens.ts';
import {
  actorText,
  commandLineName,
  issueToken,
  isTokenName,
  rotateToken,
  shownRate,
  shownToken,
  tokenNameRule,
} from './issue-token.ts';

const staleSeconds = limits.access.staleMs / 1_000;

export const tokenCreate = command({
  positionals: ['NAME'],
  summary: 'Make a token and print it. It is shown only once: the store keeps its hash.',
  need: 'Make one for each client and each operator, so that you can revoke each alone.',
  flags: ['store', 'role', 'expires', 'rate', 'json'],
  examples: [
    'plant-store token create my-app',
    'plant-store token create florist --rate 100/s:500',
    'plant-store token create nightly-import --expires 90d --json',
  ],
  async run({ values, positionals: [name = ''] }, terminal) {
    if (!isTokenName(name)) throw new UsageError(`NAME must be ${tokenNameRule}`);
    const rate = values.rate === 'none' ? undefined : values.rate;
    await using store = await openToChange(values.store);
    const issued = await issueToken(
      store,
      { name, role: values.role, validMs: values.expires, rate, by: userOfMachine() },
      Date.now(),
    );
    if ('refusal' in issued) throw new CommandError(issued.message);
    const { token } = issued;
    const expiresAt = isoTime(issued.expiresAtMs);
    const record = { name, role: values.role, token, expiresAt, ...shownRate(rate) };
    terminal.print(values.json ? recordText(record) : token);
    terminal.note(`The token ${name} ${printedText(values.role, expiresAt)}`);
    return 0;
  },
});

function printedText(role: string, expiresAt: string | null): string {
  const valid = `(role ${role}, valid until ${expiresAt ?? 'revoked'})`;
  return `${valid} was printed to standard output. It is not shown again.`;
}

/** Who runs the command, for the record of a token. */
function userOfMachine(): string {
  try {
    return actorText(`${commandLineName} (${userInfo().username})`);
  } catch {
    // The user of a container may have no name.
    return commandLineName;
  }
}

/** What a token does not have is left out. */
function recordText(record: object): string {
  return JSON.stringify(record, (_, value) => value ?? undefined);
}

export const tokenRotate = command({
  positionals: ['NAME'],
  summary:
    'Make a new secret for a token and print it. The old secret stays in force for the grace.',
  need: 'Use it before a token expires, when a secret has leaked, and at regular times.',
  flags: ['store', 'grace', 'expires', 'json'],
  examples: [
    'plant-store token rotate my-app',
    'plant-store token rotate florist --grace 7d --expires 90d',
    'plant-store token rotate my-app --grace 0',
  ],
  async run({ values, positionals: [name = ''] }, terminal) {
    await using store = await openToChange(values.store);
    const { grace: graceMs, expires: validMs } = values;
    const wish = { name, graceMs, validMs, by: userOfMachine() };
    const rotated = await rotateToken(store, wish, Date.now());
    if ('refusal' in rotated) throw new CommandError(rotated.message);
    const { token, role, rate } = rotated;
    const expiresAt = isoTime(rotated.expiresAtMs);
    const previousUntil = isoTime(rotated.previousUntilMs);
    const record = { name, role, token, expiresAt, previousUntil, ...shownRate(rate) };
    terminal.print(values.json ? recordText(record) : token);
    const ofOld =
      previousUntil === null
        ? `Running services refuse the old secret within ${staleSeconds} seconds.`
        : `The old secret stays in force until ${previousUntil}.`;
    terminal.note(`The new secret of the token ${name} ${printedText(role, expiresAt)} ${ofOld}`);
    return 0;
  },
});

export const tokenUpdate = command({
  positionals: ['NAME'],
  summary: `Change the rate of a token. Running services use it within ${staleSeconds} seconds.`,
  need: 'Use it when one client slows the others, or needs more than its rate.',
  flags: ['store', 'rate', 'json'],
  examples: [
    'plant-store token update my-app --rate 100/s:500',
    'plant-store token update my-app --rate none',
  ],
  async run({ values, positionals: [name = ''] }, terminal) {
    if (values.rate === undefined)
      throw new UsageError('--rate says what to change: a rate such as 100/s, or none');
    const rate = values.rate === 'none' ? undefined : values.rate;
    await using store = await openToChange(values.store);
    if (!(await store.limitToken(name, rate))) throw notInForce(name, values.store);
    if (values.json) terminal.print(recordText({ name, ...shownRate(rate) }));
    const says = rate === undefined ? 'any rate' : typedRate(rateText(rate), rate.burst);
    const known = `running services know within ${staleSeconds} seconds.`;
    terminal.note(`The token ${name} may send ${says}; ${known}`);
    return 0;
  },
});

function notInForce(name: string, location: StoreLocation): CommandError {
  const wayOut = `${engineOf(location).command('token list')} shows the tokens`;
  return new CommandError(`there is no token named ${name} that is not revoked; ${wayOut}`);
}

export const tokenList = command({
  positionals: [],
  summary: 'List the names, roles and times of the tokens, never the tokens themselves.',
  need: 'Use it to see which tokens are used, to a minute, and which expire soon.',
  flags: ['store', 'json'],
  examples: ['plant-store token list', 'plant-store token list --json'],
  async run({ values }, terminal) {
    await using store = await engineOf(values.store).openReader(limits.cli.readMs);
    const now = Date.now();
    const tokens = byName(await store.listTokens()).map((token) => listed(token, now));
    if (values.json) for (const token of tokens) await terminal.print(recordText(token));
    else {
      const { openTable } = await import('../cli/terminal/table.ts');
      const moment = (time: string) =>
        terminal.width === undefined ? time : distanceText(time, now);
      const table = openTable(tokenColumns(moment), terminal);
      for (const token of tokens) await table.add(token);
      await table.end();
    }
    return 0;
  },
});

/** Orders by name, so that the secrets of a name are together, the newest first. */
function byName(inOrderOfCreation: readonly TokenRecord[]): TokenRecord[] {
  return inOrderOfCreation
    .toReversed()
    .toSorted((one, other) => one.name.localeCompare(other.name, 'en', { numeric: true }));
}

function listed(token: TokenRecord, nowMs: number) {
  return { role: token.role, ...shownToken(token, nowMs), revokedBy: token.revokedBy };
}

type Listed = ReturnType<typeof listed>;

function tokenColumns(moment: (time: string) => string): readonly Column<Listed>[] {
  const orNever = (time: string | null) => (time === null ? 'never' : moment(time));
  return [
    { head: 'NAME', cell: ({ name }) => name },
    { head: 'ROLE', cell: ({ role }) => role },
    { head: 'STATE', cell: ({ state }) => state },
    { head: 'CREATED', cell: ({ createdAt }) => moment(createdAt) },
    {
      head: 'ENDS',
      cell: ({ revokedAt, expiresAt }) => orNever(revokedAt ?? expiresAt),
    },
    { head: 'LAST USED', cell: ({ lastUsedAt }) => orNever(lastUsedAt) },
    { head: 'RATE', cell: ({ rate, burst }) => (rate && burst ? typedRate(rate, burst) : 'any') },
    { head: 'BY', cell: ({ createdBy }) => createdBy ?? '-' },
  ];
}

export const tokenRevoke = command({
  positionals: ['NAME'],
  summary: `Revoke a token. Running services refuse it within ${staleSeconds} seconds.`,
  need: 'Use it if a client is retired, or a token leaks. The name "command line" ends all sessions of "plant-store open".',
  flags: ['store', 'json'],
  examples: ['plant-store token revoke my-app'],
  async run({ values, positionals: [name = ''] }, terminal) {
    await using store = await openToChange(values.store);
    const nowMs = Date.now();
    if (!(await store.revokeToken(name, nowMs, userOfMachine()))) {
      if (!(await endSessions(store, name))) throw notInForce(name, values.store);
      if (values.json) terminal.print(JSON.stringify({ name, sessionsEndedAt: isoTime(nowMs) }));
      terminal.note(`All sessions of ${name} have ended. There is no token of this name.`);
      return 0;
    }
    if (values.json) terminal.print(JSON.stringify({ name, revokedAt: isoTime(nowMs) }));
    const refused = `running services refuse it within ${staleSeconds} seconds.`;
    terminal.note(`The token ${name} is revoked; ${refused}`);
    return 0;
  },
});

/** @returns false if neither a subject nor the command line has this name */
async function endSessions(store: Store, name: string): Promise<boolean> {
  const subject = (await store.listTokens()).find(
    (one) => one.role === 'subject' && one.name === name,
  );
  if (subject === undefined) return false;
  await store.removeSessionsOf(subject.id);
  return true;
}
