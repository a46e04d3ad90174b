import { demandFit, type Limits, limits as own } from '../../src/limits.ts';

const KiB = 1_024;
const MiB = 1_024 * KiB;

const smallLog = {
  checkpointPages: 10,
  walBytesKept: 256 * KiB,
  readersEveryMs: 100,
  walBytesHigh: MiB,
  walBytesMax: 16 * MiB,
};

const quickHeartbeats = {
  ops: { ...own.ops, heartbeatEveryMs: 100, heartbeatStaleMs: 1_000 },
};

const changes: Readonly<Record<string, Partial<Limits>>> = {
  'log is to be small': {
    sqlite: { ...own.sqlite, ...smallLog },
  },
  'issuers are asked often': {
    jwt: { ...own.jwt, keysRetryMs: 200, keysAgainMs: 100 },
  },
  'connections are given up soon': {
    http: { ...own.http, headersMs: 200, idleMs: 400, handshakeMs: 400, expiryCheckMs: 50 },
  },
  'HTTP thread hangs': quickHeartbeats,
  'disk hangs': quickHeartbeats,
  'thread for checkpoints ends': { sqlite: { ...own.sqlite, ...smallLog } },
  'thread for checkpoints throws': { sqlite: { ...own.sqlite, ...smallLog } },
  'upgrades are given up soon': {
    postgres: { ...own.postgres, upgradePauseMs: 100, upgradeMs: 1_000 },
  },
};

/** By `withLimits`. JSON has no infinity, and none is needed. */
const given: Readonly<Record<string, object>> = JSON.parse(process.env['CHANGED_LIMITS'] ?? '{}');
const merged = Object.entries(given).map(([part, values]) => [
  part,
  { ...own[part as keyof Limits], ...values },
]);

/** What a program with `sabotage.ts` loads as its limits. SABOTAGE names the change. */
export const limits: Limits = {
  ...own,
  ...changes[process.env['SABOTAGE'] ?? ''],
  ...Object.fromEntries(merged),
};

demandFit(limits);
