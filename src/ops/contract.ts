/* The JSON of the operators' port. The page imports this file, so it imports nothing. */

/** ISO 8601. */
export type Time = string;

/** What the service, or `doctor`, has found out. */
export interface Finding {
  readonly level: 'ok' | 'warning' | 'error';
  /** The figure that was found, and what to do if the level is not `ok`. */
  readonly says: string;
}

export interface NamedFinding extends Finding {
  readonly name: string;
}

export interface Check extends NamedFinding {
  readonly name: 'writes' | 'promise' | 'disk' | 'plants' | 'queue' | 'service';
  /** False for an error only. */
  readonly ok: boolean;
}

/** Reply of `/readyz`. */
export interface Readiness {
  /** Whether creates are stored: no check is an error. */
  readonly ready: boolean;
  readonly checks: readonly Check[];
}

/** A size is missing if the store or the file system does not report it in time. */
export interface StoreSizes {
  /** The store's file, or the table of plants with its indexes. */
  readonly plantsBytes?: number | undefined;
  /** The WAL. Missing for a database. */
  readonly logBytes?: number | undefined;
  /** Missing for a database, as is `isSpaceLow`. */
  readonly freeBytes?: number | undefined;
  readonly isSpaceLow?: boolean | undefined;
}

export interface Backup {
  readonly file: string;
  /** False for a database, whose backups may be on another machine. */
  readonly isFileGone: boolean;
  readonly finishedAt: Time;
  readonly plants: number;
  /** Plants that the backup lacks; null: not counted yet. */
  readonly missingPlants: number | null;
}

/** A number since the start of the service, and in the last minute. */
type Tally = Readonly<Record<'total' | 'lastMinute', number>>;

/** A flag, its value in force, and its default, as an operator would type them. */
export interface Setting {
  readonly name: string;
  readonly value: string;
  readonly default: string | null;
  readonly source: 'flag' | 'variable' | 'default';
  /** What the service uses, where the value does not say it: for `auto` or a relative path. */
  readonly inForce: string | null;
}

/** What needs an operator's attention. */
export interface LinkedFinding {
  /**
   * An error: plants are not stored now. A warning: something has to be done soon. A note: what
   * clients do.
   */
  readonly level: 'error' | 'warning' | 'note';
  readonly says: string;
  /** The page of the console that has more, such as `/refusals?code=42900`. */
  readonly page: string | null;
}

export interface Overview extends Readiness {
  readonly version: string;
  readonly startedAt: Time;
  readonly store: StoreSizes & {
    /** As `--store` names the store, with the absolute path of a file and without a password. */
    readonly location: string;
    /** What a 200 guarantees, if the settings of a database decide it. */
    readonly promise: string | null;
    /** Of the last count, and those created here since. Null before the first count. */
    readonly plants: number | null;
  };
  readonly backup: Backup | null;
  readonly creates: Readonly<Record<'created' | 'same' | 'taken' | 'refused' | 'failed', Tally>>;
  /** All refusals of this service, also of taken and failed creates. */
  readonly refused: Tally;
  readonly attention: readonly LinkedFinding[];
}

export interface Sample {
  readonly atMs: number;
  /** Creates by outcome, as in `plant_store_creates_total`. */
  readonly createdPerSecond: number;
  readonly samePerSecond: number;
  readonly takenPerSecond: number;
  readonly failedPerSecond: number;
  /** Refused requests, without taken and failed creates. */
  readonly refusedPerSecond: number;
  /** Duration of creates with any outcome; null without a create. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly queuePlants: number;
  readonly connections: number;
}

/** The values of each member, in the order of the samples: fewer bytes than the samples. */
export type SampleColumns = { readonly [Member in keyof Sample]: readonly Sample[Member][] };

export interface SampleList {
  /** Without samples, all but `atMs` are missing. */
  readonly samples: SampleColumns;
  /** How many the service keeps. */
  readonly kept: number;
}

/** It never holds a body, a query or the secret of a token. */
export interface RefusedRequest {
  readonly at: Time;
  /** As in `X-Request-Id` of the reply. */
  readonly requestId: string;
  readonly code: number;
  readonly message: string;
  /** Name of the token, also of an ended one, or the subject; null if neither is known. */
  readonly token: string | null;
  /** IP address. Empty if the connection was closed. */
  readonly client: string;
}

export interface RefusalList {
  readonly refusals: readonly RefusedRequest[];
  /** How many the service keeps. */
  readonly kept: number;
}

export interface StoredPlant {
  /** Text, because a number of JavaScript does not hold every int64. */
  readonly id: string;
  readonly name: string;
  readonly tag?: string | undefined;
  readonly createdAt: Time;
  readonly createdBy: string;
}

/** One step of a search. It may end before it has found anything. */
export interface PlantPage {
  readonly plants: readonly StoredPlant[];
  /** The `after` of the next step, or its `before` with the newest first; null at the end. */
  readonly next: string | null;
}

/** One secret of a token. */
export interface Token {
  readonly name: string;
  readonly role: 'create' | 'operate';
  /** `rotated`: a newer secret has taken its place, and it stays in force until `expiresAt`. */
  readonly state: 'valid' | 'rotated' | 'expired' | 'revoked';
  readonly createdAt: Time;
  readonly expiresAt: Time | null;
  readonly expiresSoon: boolean;
  readonly revokedAt: Time | null;
  readonly lastUsedAt: Time | null;
  /** Creates to each node, such as `100/s`; null for as many as the service takes. */
  readonly rate: string | null;
  /** Creates at once, after a pause; null as `rate`. */
  readonly burst: number | null;
  /** An operator, `command line` with the user of the machine, or `first start`; null: unknown. */
  readonly createdBy: string | null;
  /** Requests that this node has answered since its start. Null: none, or with `all others`. */
  readonly figures: {
    readonly created: number;
    /** Also taken and failed creates, and requests after the end of the token. */
    readonly refused: number;
  } | null;
}

export interface TokenList {
  readonly tokens: readonly Token[];
  /** Start of the service, and so of the figures. */
  readonly since: Time;
  readonly leftOut: number;
}

/** Body of `POST /api/tokens`. */
export interface NewToken {
  readonly name: string;
  readonly role: Token['role'];
  readonly expiresInDays: number | null;
  /** As the command line takes it, such as `100/s:500`. Missing or null: any. */
  readonly rate?: string | null;
}

/** Body of `POST /api/tokens/rate`. */
export interface NewRate extends Pick<NewToken, 'rate'> {
  readonly name: string;
}

export interface CreatedToken {
  readonly name: string;
  /** The secret. It is sent only once. */
  readonly token: string;
}

/** Body of `POST /api/tokens/rotation`. */
export interface Rotation {
  readonly name: string;
  /** Time for which the secret before stays in force; 0: it ends at once. */
  readonly graceHours: number;
  /** Missing or null: the new secret lives as long as the secret before. */
  readonly expiresInDays?: number | null;
}

export interface RotatedToken extends CreatedToken {
  readonly expiresAt: Time | null;
  /** Null: the secret before has ended. */
  readonly previousUntil: Time | null;
}

/** Body of `POST /api/session`: an operator's token, or the secret of a sign-in link. */
export interface Credentials {
  readonly token?: string;
  readonly link?: string;
}

export interface Session {
  /** Name of the token that signed in; `command line` for a sign-in link. */
  readonly name: string;
}

export interface ListedBackup {
  readonly file: string;
  /** The backup has every plant that was acknowledged before. */
  readonly createdAt: Time;
  /** Null if the manifest is damaged, as is `bytes`. */
  readonly plants: number | null;
  readonly bytes: number | null;
  readonly fault: string | null;
}

export interface RunningBackup {
  /** Name of the operator who asked for the backup; null: it was due. */
  readonly operator: string | null;
  readonly startedAt: Time;
}

export interface LastRun {
  readonly ranAt: Time;
  readonly fault: string | null;
}

/** Reply of `GET /api/backups`. Null: the service was started without `--backup-to`. */
export type BackupReply = BackupList | { readonly folder: null };

export interface BackupList {
  readonly folder: string;
  readonly fault: string | null;
  readonly backups: readonly ListedBackup[];
  readonly leftOut: number;
  /** As `--backup-keep` takes it, such as `1d:1h,30d:1d`. */
  readonly keep: string;
  readonly everySeconds: number;
  /** Null: the store cannot be read. A time in the past: at once. */
  readonly dueAt: Time | null;
  readonly last: LastRun | null;
  readonly running: RunningBackup | null;
}

export type Configuration = { readonly settings: readonly Setting[] };
