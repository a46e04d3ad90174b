import { issueToken, isTokenName, tokenNameRule } from '../access/issue-token.ts';
import { tokenState } from '../access/opaque-tokens.ts';
import { UsageError } from '../config/values.ts';
import { limits } from '../limits.ts';
import type { TokenRecord } from '../store/tokens.ts';
import { openExistingStore, openReader } from '../stores.ts';
import { CommandError, command } from './command.ts';
import type { Column } from './terminal/table.ts';

export const tokenCreate = command({
  positionals: ['NAME'],
  summary: 'Make a token and print it. It is shown only once: the store keeps its hash.',
  need: 'Make one for each client and each operator, to revoke it alone.',
  flags: ['store', 'role', 'expires', 'json'],
  examples: [
    'plant-store token create my-app',
    'plant-store token create nightly-import --expires 90d --json',
  ],
  async run({ values, positionals: [name = ''] }, terminal) {
    if (!isTokenName(name)) throw new UsageError(`NAME must be ${tokenNameRule}`);
    await using store = await openExistingStore(values.store, limits.cli.lockMs);
    const issued = await issueToken(
      store,
      { name, role: values.role, validMs: values.expires },
      Date.now(),
    );
    if ('refusal' in issued) throw new CommandError(issued.message);
    const { token } = issued;
    const expiresAt = isoIfSet(issued.expiresAtMs);
    const record = { name, role: values.role, token, expiresAt };
    terminal.print(values.json ? JSON.stringify(record) : token);
    terminal.note(
      `The token ${name} (role ${values.role}, valid until ${expiresAt ?? 'revoked'}) is on the line above. It is not shown again.`,
    );
    return 0;
  },
});

export const tokenList = command({
  positionals: [],
  summary: 'List the names, roles and times of the tokens, never the tokens themselves.',
  need: 'Use it to see which tokens are used, and which expire soon.',
  flags: ['store', 'json'],
  examples: ['plant-store token list', 'plant-store token list --json'],
  async run({ values }, terminal) {
    await using store = await openReader(values.store, limits.cli.readMs);
    const now = Date.now();
    const tokens = (await store.listTokens()).map((token) => listed(token, now));
    if (values.json) for (const token of tokens) await terminal.print(JSON.stringify(token));
    else await (await import('./terminal/table.ts')).printTable(tokenColumns, tokens, terminal);
    return 0;
  },
});

function listed(token: TokenRecord, nowMs: number) {
  const { name, role, createdAtMs, expiresAtMs, lastUsedAtMs } = token;
  return {
    name,
    role,
    state: tokenState(token, nowMs),
    createdAt: iso(createdAtMs),
    expiresAt: isoIfSet(expiresAtMs),
    lastUsedAt: isoIfSet(lastUsedAtMs),
  };
}

const tokenColumns: readonly Column<ReturnType<typeof listed>>[] = [
  { head: 'NAME', kind: 'text', cell: ({ name }) => name },
  { head: 'ROLE', kind: 'text', cell: ({ role }) => role },
  { head: 'STATE', kind: 'text', cell: ({ state }) => state },
  { head: 'CREATED', kind: 'time', cell: ({ createdAt }) => createdAt },
  { head: 'EXPIRES', kind: 'time', cell: ({ expiresAt }) => expiresAt ?? 'never' },
  { head: 'LAST USED', kind: 'time', cell: ({ lastUsedAt }) => lastUsedAt ?? 'never' },
];

export const tokenRevoke = command({
  positionals: ['NAME'],
  summary: `Revoke a token. Running services refuse it within ${limits.access.staleMs / 1_000} seconds.`,
  need: 'Use it when a client is retired, or a token leaks.',
  flags: ['store'],
  examples: ['plant-store token revoke my-app'],
  async suggest({ store: location }) {
    await using store = await openReader(location, limits.cli.readMs);
    const valid = (await store.listTokens()).filter(
      (token) => tokenState(token, Date.now()) !== 'revoked',
    );
    // Names without characters that mean something in a shell.
    return valid.map(({ name }) => name).filter((name) => /^[\w.:@%+=,/-]+$/.test(name));
  },
  async run({ values, positionals: [name = ''] }, terminal) {
    await using store = await openExistingStore(values.store, limits.cli.lockMs);
    if (!(await store.revokeToken(name, Date.now()))) {
      throw new CommandError(
        `there is no token named ${name} that could be revoked; "plant-store token list" shows the tokens`,
      );
    }
    terminal.note(
      `The token ${name} is revoked; running services refuse it within ${limits.access.staleMs / 1_000} seconds.`,
    );
    return 0;
  },
});

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

function isoIfSet(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : iso(ms);
}
