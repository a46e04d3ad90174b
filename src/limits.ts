const second = 1_000;
const KiB = 1_024;
const MiB = 1_024 * KiB;
const GiB = 1_024 * MiB;

/** SQLite's page size in the stores that the service makes. */
const pageBytes = 4 * KiB;

/**
 * Every bound of the program, by the part that it belongs to. A name ends with the unit. A bound
 * that a flag can change stands here as the default of the flag.
 *
 * `demandFit` asserts at load what must hold between two bounds.
 */
export const limits = {
  contract: {
    /** Depth of a JSON body. The outermost object has depth 1. */
    jsonDepthMax: 100,
    /** Characters of a client's text that an error message repeats. */
    excerptCharsMax: 64,
  },

  http: {
    /** A request body. Default of `--body-limit`. */
    bodyBytesMax: MiB,
    /** Memory for all request bodies that have arrived in part. */
    arrivingBytesMax: 64 * MiB,
    /** Request line and header fields. Trailers and chunk sizes may take as much again. */
    headerBytesMax: 16 * KiB,
    /** Header fields of one request. Trailer fields have the same bound. */
    headerFieldsMax: 1_000,
    /** Empty lines before a request line. RFC 9112 §2.2 asks a server to skip at least one. */
    emptyLineBytesMax: KiB,
    /** End of `Forwarded` or `X-Forwarded-For` that is read. */
    forwardedChars: KiB,
    /** Heads that a thread remembers, to recognise them: the largest, their number and their sum. */
    rememberedHeadBytes: 4 * KiB,
    rememberedHeads: 4_096,
    rememberedBytes: 4 * MiB,
    /** From the first byte of a request to the end of its head; never more than `requestMs`. */
    headersMs: 10 * second,
    /** TLS handshakes under way on one thread. A further handshake ends the oldest. */
    handshakesMax: 256,
    /** From the start of a connection to the end of its TLS handshake. */
    handshakeMs: 10 * second,
    /** From the first byte of a request to its last byte. Default of `--request-timeout`. */
    requestMs: 30 * second,
    /** A connection without a request. Load balancers wait 60 s, so they close first. */
    idleMs: 65 * second,
    /** Interval of the check for expired deadlines. */
    expiryCheckMs: 500,
    /** Unanswered requests on one connection. At this number the connection is not read. */
    pipelineMax: 64,
    /** Unanswered requests behind another one, on all connections. Then no more are read. */
    pipelinedInAllMax: 20_000,
    /** Unsent replies of one connection. At this size the connection is not read. */
    unsentBytes: 16 * KiB,
    /** Input discarded after the last reply: a reset could destroy the reply. */
    lingerMs: 2 * second,
    lingerBytes: 4 * MiB,
    /** After SIGTERM, a connection serves one more request that begins within this time. */
    drainIdleMs: second,
  },

  service: {
    /** HTTP threads on a machine with many cores. Default of `--http-threads`. */
    httpThreadsAuto: 4,
    /** Open connections, file descriptors permitting. Default of `--connection-limit`. */
    connectionsMax: 20_000,
    /** The service does not start with file descriptors for fewer connections. */
    connectionsMin: 8,
    /** File descriptors that are not client connections. */
    processDescriptors: 36,
    httpThreadDescriptors: 10,
    operatorDescriptors: 14,
    /**
     * Connections to the operators' listener: one for each `descriptorsPerOpsConnection` file
     * descriptors, between the two bounds. A Prometheus, a prober and some browsers with six
     * connections each need the lower bound. A flood of 10,000 connections a second closes the
     * idlest connection each time; with the upper bound, a probe has 50 ms to send its request.
     */
    opsConnectionsMin: 32,
    opsConnectionsMax: 512,
    descriptorsPerOpsConnection: 8,
    /** From SIGTERM until busy connections are cut. Default of `--drain-timeout`. */
    drainMs: 10 * second,
    /** A SIGINT this long after the first signal ends the process at once. */
    interruptAgainMs: second,
    /** From the stop until open requests of operators are cut. */
    opsCloseMs: second,
    /** Refusals that all threads log in one interval. The others are counted in one line at its end. */
    refusalLinesMax: 10,
    logSummaryMs: second,
    /** Lines of the log that wait to be written. Further lines are dropped. */
    logLinesMax: 2_000,
    /** Until standard error is tried again after a failed write. */
    logRetryMs: 100,
    /** The count of dropped lines ends here. */
    logLinesCounted: 2 ** 31 - 1,
  },

  tls: {
    /** A file with certificates or a key (all public authorities: 300 KiB). */
    fileBytesMax: 4 * MiB,
    /** Interval at which the files are read again. A new certificate is in force within two. */
    readAgainMs: 4 * second,
    /** `doctor` and alerts warn of a certificate that expires sooner. */
    expiryWarningDays: 14,
  },

  access: {
    /** Tokens that are neither revoked nor expired. */
    liveTokensMax: 1_000,
    tokenNameCharsMax: 100,
    /** The name of who made or revoked a token. */
    actorCharsMax: 200,
    /** Creates that a token may send at once, whatever its rate. */
    burstMax: 100_000_000,
    /** Time for which the secret before a rotation stays in force at most. */
    rotationGraceMsMax: 90 * 24 * 3_600 * second,
    /** `doctor` and the console warn of a token that expires within this time. */
    tokenExpiresSoonMs: 14 * 24 * 3_600 * second,
    /** A bearer token in a request. */
    tokenCharsMax: 512,
    /** A file that holds one token, with white space around the token. */
    tokenFileBytesMax: 4 * KiB,
    /** Interval at which a service reads the tokens of its store; after a failed read. */
    refreshMs: second,
    refreshRetryMs: 250,
    /** Shortest interval of reads that unknown tokens cause, over all threads. */
    readAgainMs: 100,
    /**
     * Refused tokens that are looked up after such a read, for their names: they may be revoked or
     * expired. Time that their replies wait for the names.
     */
    endedLookupsMax: 50,
    endedLookupMs: 100,
    /** Revoked and expired tokens that a thread remembers, and unknown ones, for this time. */
    endedRememberedMax: 1_000,
    unknownKeptMs: 60 * second,
    /** Tokens that were read this long ago admit no client. Bounds the delay of a revocation. */
    staleMs: 2 * second,
    /** Interval at which the last use of tokens is written to the store. */
    useFlushMs: 60 * second,
    /** Requests without a valid token that a thread refuses each second without delay. */
    refusalsAtOnce: 1_000,
    refusalDelayMs: 50,
    /** Life of a console session. */
    sessionMs: 12 * 3_600 * second,
    /** Console sessions of one token, which a team may share. The oldest session ends first. */
    sessionsPerTokenMax: 20,
    /** Life of a sign-in link. */
    signInLinkMs: 60 * second,
    /** Sessions and unused sign-in links of the command line. */
    commandLineSessionsMax: 100,
  },

  jwt: {
    /** A JWT in a request. */
    tokenCharsMax: 8 * KiB,
    /** From now to the expiry of a token. */
    lifetimeMs: 24 * 3_600 * second,
    /** `nbf` and `iat` may be this far in the future. `exp` is exact. */
    clockToleranceMs: 60 * second,
    /** The `sub` of a token. OpenID Connect Core §2 has the same bound. */
    subjectCharsMax: 255,
    /**
     * Subjects that a store remembers, so that a plant names the subject that created it, and time
     * for which a subject is not forgotten after its last use.
     */
    subjectsMax: 100_000,
    subjectIdleMs: 3_600 * second,
    /** Interval at which a thread reads the keys of an issuer; after a failed read. */
    keysEveryMs: 60 * second,
    keysRetryMs: 5 * second,
    /** Shortest interval of reads that unknown keys cause, on each thread. */
    keysAgainMs: 2 * second,
    /** Keys stay in force for this time while their issuer cannot be reached. */
    keysKeptMs: 24 * 3_600 * second,
    /** One read of the keys of an issuer, and one reply of it. */
    fetchMs: 5 * second,
    fetchBytesMax: 256 * KiB,
    /** Verified tokens that a thread remembers, and their characters. */
    rememberedMax: 10_000,
    rememberedCharsMax: 16 * MiB,
  },

  trace: {
    /** Time to send the last spans when the service stops. */
    closeMs: second,
  },

  store: {
    /** Plants that wait for a transaction. Default of `--queue-limit`. */
    queuePlantsMax: 10_000,
    /** Memory of the plants that wait for a transaction, counted as the bytes of their bodies. */
    queueBytesMax: 32 * MiB,
    /** From a valid request until its plant is durable. Default of `--commit-timeout`. */
    commitMs: 4 * second,
    /** Time that a batch gathers while other batches are committed. PostgreSQL only. */
    gatherMs: 1,
    /** UTF-16 units of names and tags in one read of `plants list`, which must not hold the WAL. */
    listPageChars: 64 * KiB,
    /** Time of one step of `plants list` in a file. Signals are answered between two steps. */
    listStepMs: 100,
    /** Plants in the first window of a search. Windows that take less time grow fourfold. */
    searchWindowPlants: 250,
    searchWindowMs: 20,
    /** Creators with a number of their own in a count. */
    creatorsCounted: 1_000,
    /** So far apart are clocks at most. A stored time that is further ahead is of a wrong clock. */
    clocksApartMs: 60 * second,
    /** Plants, and UTF-16 units of names and tags, in one page of a snapshot. */
    snapshotPagePlants: 10_000,
    snapshotPageChars: 512 * KiB,
    /** UTF-16 units of plants that go into the digest in one step. */
    digestChunkChars: MiB,
    /** Backups that a store remembers. */
    backupsRecorded: 100,
  },

  sqlite: {
    /** Plants in a row of the journal that an upgrade fills. */
    filledRowPlants: 1_000,
    /**
     * Pages in the WAL at which the WAL is copied into the store's file. Creates wait for the copy:
     * 3 % of the time with ascending ids, 60 % with random ids among 20 million plants, in pauses
     * of 9 ms. With 16,000 pages, random ids gain at most a quarter, and pauses are 90 ms.
     */
    checkpointPages: 1_000,
    /** From a checkpoint that copied the whole WAL until the WAL begins again. */
    beginWalMs: 5,
    /** Disk space that an empty WAL keeps. Only readers make the WAL grow beyond it. */
    walBytesKept: 64 * MiB,
    /** Wait of the writer for readers of a larger WAL; interval of the waits (1 % of creates). */
    readersMs: 50,
    readersEveryMs: 10 * second,
    /** `doctor` and alerts warn of a larger WAL, which a reader holds. */
    walBytesHigh: 256 * MiB,
    /**
     * A WAL of this size takes no more plants. Its index takes 8 MiB of memory. Recovery after a
     * kill takes 0.7 s, and the copy into the file 0.8 s (20 million plants, random ids). Both are
     * well below `commitMs`.
     */
    walBytesMax: 4 * GiB,
    /** The largest store that is checked for damage at the start. */
    checkedAtStartBytes: 64 * MiB,
    /** More than a tick of the clock that stamps files (Linux: 1 to 10 ms). */
    fileTimeMs: 20,
    /** A new store takes up to 100 KiB: its WAL, the index, and the file. A stopped one takes 32 KiB. */
    startBytes: 128 * KiB,
    /** Pages that a backup copies in one step. Progress is reported between two steps. */
    backupStepPages: 1_000,
  },

  postgres: {
    /** One attempt to connect to one host. Default of `connect_timeout`. */
    connectMs: 2 * second,
    /** Pause after a failed attempt to connect, and to open one more connection beside others. */
    reconnectMs: 250,
    furtherMs: 5 * second,
    /** Silence after which TCP probes a connection. */
    keepAliveMs: 10 * second,
    /** Silence of a node after which the server rolls its transaction back. */
    idleInTransactionMs: 5 * second,
    /** Transactions with plants that one thread has open at a time. */
    batchesMax: 3,
    /** Attempts at a transaction that conflicts with others; first pause, which doubles. */
    conflictTries: 8,
    conflictPauseMs: 5,
    /** An upgrade waits this long for a lock, pauses, and tries again for this time. */
    upgradeLockMs: 200,
    upgradePauseMs: 2 * second,
    upgradeMs: 20 * second,
    /** The whole upgrade, which builds an index of all plants. */
    upgradeStepMs: 600 * second,
    /** Rows in one read. */
    pageRows: 5_000,
    /** Time between two pages of a snapshot. */
    snapshotIdleMs: 10 * 60 * second,
    /** All questions of `doctor` to a database. */
    conditionMs: 10 * second,
    /** `doctor` warns of a standby that is further behind. */
    standbyLagBytesHigh: 64 * MiB,
    /** The row of a stopped node is kept for this time. */
    heartbeatKeptMs: 24 * 3_600 * second,
    /** Creating or dropping the schema that `prove` uses. */
    scratchMs: 60 * second,
  },

  disk: {
    /** What is read of a file in one step. */
    chunkBytes: MiB,
    /** Less free space is an error: the WAL takes half of it before a checkpoint. */
    freeBytesMin: 8 * MiB,
    /**
     * `doctor`, the console, metrics and alerts warn of less free space: fewer bytes, or a smaller
     * share of the disk unless `freeBytesPlenty` are free. The service stays ready, because creates
     * are stored.
     */
    freeBytesLow: GiB,
    freePercentLow: 10,
    freeBytesPlenty: 16 * GiB,
    /** Free inodes: an error, and a warning. A store takes four, a backup beside it four more. */
    freeInodesMin: 8,
    freeInodesLow: 1_000,
  },

  transfer: {
    /** Titles of columns in a message. */
    columnsShown: 20,
    /** Bytes that `import` reads, and stores in one transaction. */
    importChunkBytes: 256 * KiB,
    /**
     * Pause between two transactions of `import`, in which a running service writes. Beside 8
     * connections the p99 of a create is 5 ms with the pause and 9 ms without. Beside a process
     * that only computes, it is 3 ms.
     */
    importPauseMs: 2,
    /** `import` retries this long against a store that takes no plants; pause between retries. */
    importWaitMs: 60 * second,
    importRetryMs: 250,
    /** `send` retries each plant this long. */
    sendWaitMs: 60 * second,
    /** Extra length of a plant in a file: `1e18` in a body is exported as 19 digits. */
    idBytesMax: 20,
    /** Part of a line that is too large, kept to show the line. */
    refusedExcerptBytes: 1_000,
    /** Ids that `copy` prints of plants that are in only one of two stores. */
    copyIdsShown: 5,
  },

  cli: {
    /** Wait for a turn to write beside a running service. */
    lockMs: 10 * second,
    /** One read of a database, which may go through all plants. */
    readMs: 10 * 60 * second,
    /** The answer of a running service. */
    healthMs: 5 * second,
    replyBytesMax: 16 * MiB,
    /** For which `status` waits for the first count of the plants, and how often it asks. */
    countMs: 5 * second,
    countEveryMs: 250,
    /** Requests that `tail` asks for at a time; interval at which it asks for more. */
    tailMax: 1_000,
    tailEveryMs: 500,
    /** A command that opens a browser, and still runs, has succeeded. */
    browserMs: second,
    /** The manifest of a backup. Usual size: 500 bytes. */
    manifestBytesMax: 64 * KiB,
    /** `doctor` and alerts warn of an older backup. */
    backupAgeMs: 7 * 24 * 3_600 * second,
    /** `doctor` counts a token as in use that was used within this time; tokens that it names. */
    tokenUsedMs: 30 * 24 * 3_600 * second,
    tokensNamed: 5,
    /** `doctor` warns of a clock that is further behind the last write. */
    clockBehindMs: 5 * second,
    /** Interval of the progress bar, and of progress lines where there is no terminal. */
    progressBarMs: 100,
    progressLineMs: 10 * second,
    /** Default of `plants list --limit`. */
    listPlantsDefault: 100,
    /** A line of `plants get -`; a longer one is no id. */
    idLineBytesMax: 1_000,
    /** Plants that `plants list --newest` reads at once. */
    newestPlantsMax: 1_000,
    /** Time of one step of `plants list --newest` and `plants count`, after which they show how far they are. */
    searchStepMs: 1 * second,
    /** Code units of a cell on a terminal; longer text is shortened. */
    cellCharsMax: 60,
    /** Rows that a table reads before it prints, to set the width of its columns. */
    tableRowsMeasured: 1_000,
    /** Memory for the ids of a file in `import --dry-run`; more ids go to a temporary file. */
    dryRunCacheKiB: 32 * 1_024,
    /** Refused lines that `import --dry-run` shows. With `--json`, all. */
    dryRunLinesShown: 20,
  },

  prove: {
    /** Default of `prove --seconds`. */
    seconds: 20,
    /** Connections, each with one create under way. */
    connections: 16,
    /** A kill follows after at most this many acknowledged creates. */
    killAfterMax: 10_000,
    /** No load takes more than this fraction (1/n) of the time. */
    livesMin: 5,
    /** Plants in one store of `prove`, some 150 MiB. It then begins a new store. */
    plantsMax: 1_000_000,
    /** Less free space is an error: the WAL takes half of it before a checkpoint. */
    freeBytesMin: 512 * MiB,
    /** Time to measure the sync of the disk. */
    syncMs: second,
    /** No drive syncs faster, unless its cache survives a power loss. */
    syncMsMin: 0.02,
    /** A server that starts, or answers a create, later than this has failed. */
    answerMs: 60 * second,
  },

  backup: {
    /** Longest time after an upgrade in which a service of the earlier version may store plants. */
    handoverMs: 3_600 * second,
    /** Wait for another process that works on the backups in a folder; pause between two looks. */
    folderWaitMs: 3_600 * second,
    folderRetryMs: second,
    /** The clock is trusted with a step of this length between two backups, whatever came before. */
    usualStepMs: 2 * 3_600 * second,
    /** Age of a manifest without its backup at which the manifest is removed. */
    leftoverMs: 24 * 3_600 * second,
  },

  jobs: {
    /** Shortest and longest time between two looks at what is due. */
    restMs: second,
    lookMs: 60 * second,
    /** Pause after a failed job. */
    retryMs: 300 * second,
    /** One read of the records. */
    readMs: 10 * second,
    /** The end of what a job prints. A backup prints 700 characters. */
    outputCharsMax: 16 * KiB,
  },

  ops: {
    /** Connections that the kernel queues. Beyond it, a probe connects again 1 s later. */
    backlog: 4_096,
    /** A connection without a request. The console sends its next request sooner. */
    idleMs: 5 * second,
    /** A request body. */
    bodyBytesMax: 16 * KiB,
    /** Interval of the test write to the store. */
    heartbeatEveryMs: 2 * second,
    /** Pause after a failed test write. */
    heartbeatRetryMs: 500,
    /** Failed test writes in a row that make the service unready. */
    heartbeatFailuresMax: 2,
    /** Age of the last write at which the service is unready. */
    heartbeatStaleMs: 5 * second,
    /** Time that `/metrics` and the console wait for figures of the store. */
    storeFiguresMs: second,
    /** Interval and number of the samples that the console shows: 15 minutes. */
    samplesEveryMs: second,
    samplesKept: 900,
    /** Shortest interval in which the figures of the overview are gathered. */
    overviewEveryMs: second,
    /** Time in which the overview counts recent creates and refusals, and names their clients. */
    talliesMs: 60 * second,
    /** Tokens and subjects with figures of their own; time without use after which one makes room. */
    tokenFiguresMax: 1_000,
    tokenFiguresIdleMs: 24 * 3_600 * second,
    /** Shortest interval of the reads of the tokens in force, for metrics and the overview. */
    liveTokensEveryMs: 60 * second,
    /** Names of clients or tokens in one line of what needs attention. */
    attentionNamesMax: 5,
    /** Refusals that operators see. */
    refusalsKept: 1_000,
    /** Wrong tokens that are answered at once; interval of further answers. */
    guessesAtOnce: 5,
    guessEveryMs: 5 * second,
    /** Plants in one page of a search, and the default. */
    searchPlantsMax: 200,
    searchPlantsDefault: 50,
    /** UTF-16 units of a text in a search. */
    searchTextCharsMax: 1_000,
    /** Time of one search. The reply says where to go on. */
    searchMs: 250,
    /** Reads that wait for one another. Further reads are refused. */
    readsMax: 16,
    /** One read of a database. */
    readMs: 10 * second,
    /** The thread for reads ends after this time without a read. */
    readerIdleMs: 10 * second,
    /** Time of one step of a count of all plants. Searches run between two steps. */
    countStepMs: 50,
    /** Shortest interval of two counts. The pause is at least `countPauses` counts long. */
    countEveryMs: 60 * second,
    countPauses: 100,
    /** Backups that the console lists; shortest interval of two looks into their folder. */
    backupsShown: 1_000,
    backupsEveryMs: second,
    /** One look into the folder, which may be on a network drive. */
    backupsMs: 4 * second,
    /** Life of a token that the console creates. */
    tokenDaysMax: 36_500,
    /** Revoked and expired tokens that the console shows. */
    pastTokensShown: 1_000,
  },
} as const;

export type Limits = Widened<typeof limits>;
type Widened<T> = { readonly [K in keyof T]: T[K] extends number ? number : Widened<T[K]> };

/** @throws Error that says which two bounds contradict each other */
export function demandFit({ access, cli, disk, http, ops, sqlite, store }: Limits): void {
  const rules: readonly (readonly [isKept: boolean, rule: string])[] = [
    [http.headersMs <= http.requestMs, 'header fields are a part of the request'],
    [http.bodyBytesMax <= store.queueBytesMax, 'the queue has room for the largest plant'],
    [ops.backupsMs < cli.healthMs, 'a folder of backups that hangs does not hold `status` up'],
    [store.queueBytesMax <= http.arrivingBytesMax, 'a plant that fits into the queue can arrive'],
    [access.refreshMs < access.staleMs, 'tokens are read again before they are stale'],
    [
      2 * ops.heartbeatEveryMs <= ops.heartbeatStaleMs,
      'one late test write does not make the service unready',
    ],
    [
      2 * sqlite.checkpointPages * pageBytes <= disk.freeBytesMin,
      'a checkpoint fits into the space that is no error yet',
    ],
    [disk.freeBytesMin < disk.freeBytesLow, 'free space is a warning before it is an error'],
    [disk.freeBytesLow <= disk.freeBytesPlenty, 'plenty of free space is no warning'],
    [disk.freeInodesMin < disk.freeInodesLow, 'free inodes are a warning before they are an error'],
    [sqlite.walBytesKept < sqlite.walBytesHigh, 'a WAL of the usual size is no warning'],
    [sqlite.walBytesHigh < sqlite.walBytesMax, 'a WAL is a warning before it is full'],
  ];
  const broken = rules.find(([isKept]) => !isKept);
  if (broken) throw new Error(`two limits contradict each other: ${broken[1]}`);
}

demandFit(limits);
