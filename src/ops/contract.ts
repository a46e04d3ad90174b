/*
 * The JSON that the operators' listener sends and takes. The routes and the page of the console are
 * both checked against these types. The page imports types only, so this file imports nothing.
 */

/** ISO 8601. */
export type Time = string;
/** Text, because a number of JavaScript does not hold every int64. */
export type PlantId = string;

export interface Check {
  readonly name: 'writes' | 'disk' | 'queue' | 'service';
  /** False for an error only. */
  readonly ok: boolean;
  /** An error makes the service unready; a warning does not. `doctor` uses the same levels. */
  readonly level: 'ok' | 'warning' | 'error';
  readonly says: string;
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

interface StoreState extends StoreSizes {
  /** As `--store` names the store, without a password. */
  readonly location: string;
  /** As `location`, with the absolute path of a file. */
  readonly wholeLocation: string;
  /** As `wholeLocation`, quoted for a shell. */
  readonly shellLocation: string;
  /** What a 200 guarantees, if the settings of a database decide it. */
  readonly promise: string | null;
  /** Null before the first count. */
  readonly plants: number | null;
  readonly countedAt: Time | null;
  /** Plants that this service has created since the count. */
  readonly createdSince: number | null;
}

export interface Backup {
  readonly file: string;
  /**
   * Whether the machine of the service has no such file. The backup of a database may be on another
   * machine.
   */
  readonly isFileGone: boolean;
  readonly finishedAt: Time;
  readonly plants: number;
  /** Plants that the backup lacks; null: not counted yet. */
  readonly missingPlants: number | null;
  readonly digest: string;
}

/** A number since the start of the service, and in the last minute. */
export interface Tally {
  readonly total: number;
  readonly lastMinute: number;
}

/** A flag, its value in force, and its default, as an operator would type them. */
export interface Setting {
  readonly name: string;
  readonly value: string;
  readonly default: string | null;
  /** Where the value comes from. */
  readonly source: 'flag' | 'variable' | 'default';
  /** What the service uses, where the value does not say it: for `auto`, and for a relative path. */
  readonly inForce: string | null;
}

/** A token, or the subject of an identity provider, and its refusals. */
export interface Limited {
  readonly name: string;
  /** Since the start of the service. */
  readonly refused: number;
  readonly lastAt: Time;
}

/** Makes or checks backups at regular times. */
export interface Job {
  readonly name: 'backup' | 'scrub' | 'drill';
  /** Why the last run has failed; null: it has succeeded. */
  readonly fault: string | null;
  readonly ranAt: Time;
  /** Null: no run has succeeded. */
  readonly succeededAt: Time | null;
  /** Duration of the last success; of a drill, the time to recover. */
  readonly tookSeconds: number | null;
}

export interface Overview extends Readiness {
  readonly version: string;
  readonly startedAt: Time;
  readonly store: StoreState;
  /** The last verified backup. */
  readonly backup: Backup | null;
  readonly jobs: readonly Job[];
  readonly configuration: readonly Setting[];
  /** Creates of this service by outcome. */
  readonly creates: Readonly<Record<'created' | 'same' | 'taken' | 'failed', Tally>>;
  /** Refusals of this service, by code, without codes that have none. */
  readonly refusals: readonly (Tally & { readonly code: number })[];
  /** Clients that were over their rate in the last minute, newest first. */
  readonly limited: readonly OverRate[];
  /** Clients whose revoked or expired token was refused in the last minute, newest first. */
  readonly endedInUse: readonly Limited[];
  /**
   * Clients with a valid token that have sent requests in the last minute, and of which no create was
   * accepted since the start; most refusals first.
   */
  readonly refusedOnly: readonly RefusedOnly[];
  /** Valid tokens whose end is near, soonest first; at most a minute old. */
  readonly expiringTokens: readonly ExpiringToken[];
}

interface OverRate extends Limited {
  /** As in `Token`; null for the rate of all subjects, and of a fixed token. */
  readonly rate: string | null;
}

export interface RefusedOnly extends Limited {
  /** Codes of its refusals, the most frequent first. */
  readonly codes: readonly number[];
}

export interface ExpiringToken {
  readonly name: string;
  /** Whether the name has a newer secret. */
  readonly isRotated: boolean;
  readonly expiresAt: Time;
  readonly lastUsedAt: Time | null;
}

/** Measurements of one second. */
export interface Sample {
  /** End of the second, in milliseconds since the epoch. */
  readonly atMs: number;
  /** Creates by outcome, as in `plant_store_creates_total`. */
  readonly createdPerSecond: number;
  readonly samePerSecond: number;
  readonly takenPerSecond: number;
  readonly failedPerSecond: number;
  /** Requests that were refused before they reached the store. */
  readonly refusedPerSecond: number;
  /** Duration of creates with any outcome; null without a create. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** Mean number of plants in a transaction; null without a transaction. */
  readonly batchPlants: number | null;
  readonly queuePlants: number;
  readonly connections: number;
}

export interface SampleList {
  readonly samples: readonly Sample[];
}

/** Figures of one minute of all nodes together. Minutes without a service are missing. */
export interface Minute {
  /** Start of the minute, in milliseconds since the epoch. */
  readonly atMs: number;
  /** Whether a service was started in the minute. */
  readonly hasStart: boolean;
  /** Numbers of creates, by outcome. */
  readonly created: number;
  readonly same: number;
  readonly taken: number;
  readonly failed: number;
  /** Refusals other than taken and failed creates. */
  readonly refused: number;
  /** All refusals, by error code. Empty if an earlier version has written the minute. */
  readonly refusals: Readonly<Record<string, number>>;
  /** Refusals by the name of the token or the subject, as far as `senderRefusals` has them. */
  readonly refusedSenders: Readonly<Record<string, number>>;
  /**
   * Refusals by name and error code: of each node, the 20 pairs with the most, and the others with the
   * name `all others`. An earlier version has written none.
   */
  readonly senderRefusals: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Refusals without a known token, by error code. An earlier version has written none. */
  readonly anonymousRefusals: Readonly<Record<string, number>>;
  /** Of the slowest node; null without a create. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  /** The largest number of a node. */
  readonly queuePlants: number;
  readonly connections: number;
}

/** Reply of `GET /api/history`. */
export interface History {
  /** The last 24 hours, without the minute that has not ended. */
  readonly minutes: readonly Minute[];
  /** The minute that has not ended, of this node alone. */
  readonly begun: Minute;
  /** In the last 24 hours, in order of time. */
  readonly crashes: readonly Crash[];
}

/**
 * A crash, a kill or a power cut has ended a run of a service, or its stop could not be written. A run
 * that has ended within its first minute is not known.
 */
export interface Crash {
  /** Start of the run, in milliseconds since the epoch. */
  readonly startedAtMs: number;
  /** Start of the last minute that the run has written. */
  readonly lastMs: number;
}

/** What the service remembers of a request. It never holds a body, a query or a token. */
export interface RequestRecord {
  readonly at: Time;
  /** As in `X-Request-Id` of the reply. */
  readonly requestId: string;
  readonly status: number;
  /** Null for an accepted create. */
  readonly code: number | null;
  /** `failed`: the service is the cause of the error. `same`: a retry of a stored plant. */
  readonly outcome: 'refused' | 'failed' | 'created' | 'same';
  /**
   * Name of the token, also of a revoked or expired token, or the subject. Null: it is not known who
   * has sent the request.
   */
  readonly token: string | null;
  /** IP address, behind trusted proxies. Empty if the connection was closed, or if it is forgotten. */
  readonly client: string;
  /** Message of the reply; of an accepted create, what the service has done. */
  readonly message: string;
  /** Why the service has failed. The client did not get it. Null: the message says all. */
  readonly cause: string | null;
  /** Null for a request whose head is malformed, or whose line is forgotten. */
  readonly method: string | null;
  /** Without the query, and with `…` for each long part. */
  readonly path: string | null;
}

/** Reply of `GET /api/requests`. */
export interface RequestList {
  /** Newest first. */
  readonly requests: readonly RequestRecord[];
  /** The `after` of the next request. */
  readonly next: string;
  /** Refusals since `after` that this list would have, had the service not forgotten them. */
  readonly missed: number;
}

export interface StoredPlant {
  readonly id: PlantId;
  readonly name: string;
  readonly tag?: string | undefined;
  readonly createdAt: Time;
  /** Name of a token. */
  readonly createdBy: string;
}

/** One step of a search. It may end before it has found anything. */
export interface PlantPage {
  readonly plants: readonly StoredPlant[];
  /** The `after` of the next step, or its `before` with the newest first; null at the end. */
  readonly next: string | null;
  /**
   * With the newest first: the search has looked at the plants that came since. Null in order of id,
   * at the end, and among plants that are not in order of time.
   */
  readonly reachedAt: Time | null;
}

/** One step of a count. */
export interface PlantCount {
  readonly plants: number;
  /** The `after` of the next step; null at the end. */
  readonly next: string | null;
  /**
   * With `byCreator=true`: `plants` by `StoredPlant.createdBy`. Names beyond
   * `limits.store.creatorsCounted` are added up as `all others`.
   */
  readonly byCreator?: Readonly<Record<string, number>> | undefined;
}

export type Role = 'create' | 'operate';

/** One secret of a token. */
export interface Token {
  readonly name: string;
  readonly role: Role;
  /** `rotated`: a newer secret has taken its place, and it stays in force until `expiresAt`. */
  readonly state: 'valid' | 'rotated' | 'expired' | 'revoked';
  readonly createdAt: Time;
  readonly expiresAt: Time | null;
  /** Whether it is valid, and its end is near. */
  readonly expiresSoon: boolean;
  readonly revokedAt: Time | null;
  readonly rotatedAt: Time | null;
  /** While it was valid. */
  readonly lastUsedAt: Time | null;
  /** Creates to each node, such as `100/s`; null for as many as the service takes. */
  readonly rate: string | null;
  /** Creates to each node at once after a pause; null without a rate. */
  readonly burst: number | null;
  /**
   * Names of operators, `command line` with the user of the machine, or `first start`; null if it is
   * not known.
   */
  readonly createdBy: string | null;
  readonly revokedBy: string | null;
  /** Null: this node has not seen it since the start, or counts it with `all others`. */
  readonly figures: TokenFigures | null;
}

/**
 * Requests with a token that this node has answered since its start; a second late. Those with a
 * token that was revoked or expired count as refused, with code 40101.
 */
export interface TokenFigures {
  /** Creates by outcome, as in `plant_store_creates_total`. */
  readonly created: number;
  readonly same: number;
  readonly taken: number;
  readonly failed: number;
  /** All refusals, also of taken and failed creates. */
  readonly refused: number;
  /** Most first. */
  readonly refusals: readonly TokenRefusals[];
  /** Of the last of these requests. */
  readonly lastUsedAt: Time;
}

export interface TokenRefusals {
  readonly code: number;
  /** What the code means. */
  readonly when: string;
  readonly count: number;
  readonly lastAt: Time;
}

/** Who creates plants without a token of the store. */
export interface OtherCaller {
  readonly name: string;
  /** `others`: all tokens and subjects beyond the bound. */
  readonly kind: 'fixed token' | 'subject' | 'others';
  readonly figures: TokenFigures;
}

export interface TokenList {
  readonly tokens: readonly Token[];
  /** Those that this node has seen since its start. */
  readonly otherCallers: readonly OtherCaller[];
  /** Start of the service, and so of the figures. */
  readonly since: Time;
  /** Number of older expired and revoked tokens that are not in the list. */
  readonly leftOut: number;
}

/** Body of `PATCH /api/tokens?name=NAME`. */
export interface RateWish {
  /** As in `Token`. */
  readonly rate: string | null;
  /** Missing or null: the number in the rate. */
  readonly burst?: number | null;
}

export type ChangedRate = Pick<Token, 'name' | 'rate' | 'burst'>;

/** Body of `POST /api/tokens`. A missing rate is null. */
export interface NewToken extends Partial<RateWish> {
  readonly name: string;
  readonly role: Role;
  /** Null: valid until it is revoked. */
  readonly expiresInDays: number | null;
}

export interface CreatedToken {
  readonly name: string;
  /** The secret. It is sent only once. */
  readonly token: string;
}

/** Body of `POST /api/tokens/inspection`, whose reply is a `Token`. */
export interface Secret {
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
  /** Null: valid until it is revoked. */
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

export interface SignInProvider {
  /** Null: operators sign in with tokens only. */
  readonly issuer: string | null;
}

/** A backup in the folder of `--backup-to`. */
export interface ListedBackup {
  readonly file: string;
  /** The backup has every plant that was acknowledged before. */
  readonly createdAt: Time;
  /** Null if the manifest is damaged, as is `bytes`. */
  readonly plants: number | null;
  readonly bytes: number | null;
  /** When the backup was checked. */
  readonly checkedAt: Time;
  /** Null for a sound manifest. */
  readonly fault: string | null;
}

export interface RunningBackup {
  /** Name of the operator who asked for the backup; null: it was due. */
  readonly operator: string | null;
  readonly startedAt: Time;
  /** The current step, such as `copying`. */
  readonly step: string;
  /** How far the step is; null if its end is unknown. */
  readonly standing: {
    readonly done: number;
    readonly total: number;
    readonly unit: 'plants' | 'bytes';
    /** Null: not known yet. */
    readonly secondsLeft: number | null;
  } | null;
}

/** The last backup that this service has tried to make. */
export interface LastRun {
  readonly ranAt: Time;
  /** Why it has failed; null: it has succeeded. */
  readonly fault: string | null;
}

/** Reply of `GET /api/backups`. */
export interface BackupList {
  /** Null: the service was started without `--backup-to`, and the list is empty. */
  readonly folder: string | null;
  /** Why the folder cannot be read. */
  readonly fault: string | null;
  /** Newest first. */
  readonly backups: readonly ListedBackup[];
  /** Number of older backups that are not in the list. */
  readonly leftOut: number;
  /** As `--backup-keep` takes it, such as `1d:1h,30d:1d`. */
  readonly keep: string | null;
  /** Null: no backup is scheduled. */
  readonly everySeconds: number | null;
  /** Null: never. A time in the past: at once. */
  readonly dueAt: Time | null;
  readonly last: LastRun | null;
  readonly running: RunningBackup | null;
}
