const second = 1_000;
const KiB = 1_024;
const MiB = 1_024 * KiB;
const GiB = 1_024 * MiB;

/**
 * Every bound of the program, by the part that it belongs to. A name ends with the unit. A bound
 * that a flag can change stands here as the default of the flag.
 *
 * `demandFit` asserts at load what must hold between two bounds.
 */
export const limits = {
  contract: {
    /** The outermost object has depth 1. */
    jsonDepthMax: 100,
    /** Of a client's text that an error message repeats. */
    excerptCharsMax: 64,
  },

  http: {
    /** Default of `--body-limit`. */
    bodyBytesMax: MiB,
    /**
     * Of all connections, what has arrived in part and what is unsent: of strangers, and of clients
     * that have shown a valid token. Divided among the threads.
     */
    strangersBytesMax: 32 * MiB,
    clientsBytesMax: 128 * MiB,
    /** What Linux keeps for a connection that is not read: the most of `net.ipv4.tcp_wmem`. */
    kernelBytes: 4 * MiB,
    /** Request line and header fields. Trailers and chunk sizes may take as much again. */
    headerBytesMax: 16 * KiB,
    headerFieldsMax: 1_000,
    /** RFC 9112 §2.2 asks a server to skip at least one. */
    emptyLineBytesMax: KiB,
    /** Heads that a thread remembers: the largest, what a parsed line takes, and the sum. */
    rememberedHeadBytes: 4 * KiB,
    rememberedLineBytes: 200,
    rememberedBytes: 4 * MiB,
    /** From the first byte of a request to the end of its head; never more than `requestMs`. */
    headersMs: 10 * second,
    /** On one thread. A further handshake ends the oldest. */
    handshakesMax: 256,
    handshakeMs: 10 * second,
    /** From the first byte of a request to its last byte. */
    requestMs: 30 * second,
    /** A connection without a request. Load balancers wait 60 s, so they close first. */
    idleMs: 65 * second,
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
    /** A browser may repeat a request of another origin without a preflight. Chromium's bound. */
    preflightSeconds: 7_200,
    /**
     * After SIGTERM, a connection serves one more request that begins within this time; beside a
     * service that has taken the port over, almost until the end of `drainMs`.
     */
    drainIdleMs: second,
    /** At SIGTERM, connections that wait are accepted for at most this time. */
    lastAcceptsMs: second,
  },

  service: {
    /** HTTP threads on a machine with many cores. Default of `--http-threads`. */
    httpThreadsAuto: 4,
    connectionsMax: 20_000,
    /** A connection with TLS takes 45 KiB more. */
    tlsConnectionsMax: 3_000,
    /** The service does not start with file descriptors for fewer connections. */
    connectionsMin: 8,
    /** File descriptors that are not client connections. */
    processDescriptors: 36,
    httpThreadDescriptors: 10,
    operatorDescriptors: 14,
    /** One for each `descriptorsPerOpsConnection` file descriptors, between the two bounds. */
    opsConnectionsMin: 32,
    opsConnectionsMax: 512,
    descriptorsPerOpsConnection: 8,
    drainMs: 10 * second,
    /** At a stop, the answer of a service that has taken the port over. */
    portProbeMs: second,
    /** Interval at which a start asks systemd for three times as much. */
    startSignMs: 20 * second,
    /** A SIGINT this long after the first signal ends the process at once. */
    interruptAgainMs: second,
    /** Calls to a thread under way, such as one for each connection of an operator. */
    callsMax: 1_024,
    /** A thread waits this long for another thread, which may stand still. */
    standstillMs: 100,
    /** From the stop until open requests of operators are cut. */
    opsCloseMs: second,
    /** Refusals with a line in one interval. One line counts the others. */
    refusalLinesMax: 10,
    logSummaryMs: second,
    /** Interval of the lines of an outage. */
    outageLineMs: 60 * second,
    logLinesMax: 2_000,
    logRetryMs: 100,
    /** The count of dropped lines ends here. */
    logLinesCounted: 2 ** 31 - 1,
  },

  tls: {
    /** All public authorities take 300 KiB. */
    fileBytesMax: 4 * MiB,
    /** A new certificate is in force within two. */
    readAgainMs: 4 * second,
    /** `doctor` and alerts warn of a certificate that expires sooner. */
    expiryWarningDays: 14,
  },

  access: {
    liveTokensMax: 1_000,
    tokenNameCharsMax: 100,
    /** The name of who made or revoked a token. */
    actorCharsMax: 200,
    /** Creates that a token may send at once, whatever its rate. */
    burstMax: 100_000_000,
    rotationGraceMsMax: 90 * 24 * 3_600 * second,
    /** The console warns of a token that expires within this time. */
    tokenExpiresSoonMs: 14 * 24 * 3_600 * second,
    tokenCharsMax: 512,
    /** Of a fixed token that other machines can try. 32 characters of base64 are 192 bits. */
    fixedTokenCharsMin: 32,
    tokenFileBytesMax: 4 * KiB,
    /** Interval at which a service reads the tokens of its store; after a failed read. */
    refreshMs: second,
    refreshRetryMs: 250,
    /** Shortest interval of reads that unknown tokens cause, over all threads. */
    readAgainMs: 100,
    /** Refused tokens that are looked up for their names, and the wait of their replies. */
    endedLookupsMax: 50,
    endedLookupMs: 100,
    /** A reading of the tokens that is older admits no client: a revocation is in force by then. */
    staleMs: 2 * second,
    /** Interval at which the last use of tokens is written to the store. */
    useFlushMs: 60 * second,
    /** Tokens and subjects whose last use waits. At this number, all are written. */
    usesMax: 10_000,
    /** Requests without a valid token that a thread refuses each second without delay. */
    refusalsAtOnce: 1_000,
    refusalDelayMs: 50,
    sessionMs: 12 * 3_600 * second,
    sessionsPerTokenMax: 20,
    signInLinkMs: 60 * second,
    /** Sessions and unused sign-in links of the command line. */
    commandLineSessionsMax: 100,
  },

  jwt: {
    tokenCharsMax: 8 * KiB,
    lifetimeMs: 24 * 3_600 * second,
    /** `nbf` and `iat` may be this far in the future. `exp` is exact. */
    clockToleranceMs: 60 * second,
    /** As in OpenID Connect Core §2. */
    subjectCharsMax: 255,
    /** Subjects that a store remembers, for this time after the last use. */
    subjectsMax: 100_000,
    subjectIdleMs: 3_600 * second,
    /** Interval at which a thread reads the keys of an issuer; after a failed read. */
    keysEveryMs: 60 * second,
    keysRetryMs: 5 * second,
    /** Shortest interval of reads that unknown keys cause, on each thread. */
    keysAgainMs: 2 * second,
    /** Keys stay in force for this time while their issuer cannot be reached. */
    keysKeptMs: 24 * 3_600 * second,
    /** One read of keys, and one reply. */
    fetchMs: 5 * second,
    fetchBytesMax: 256 * KiB,
    /** What a thread remembers of verified tokens and of their subjects; tokens of one subject. */
    rememberedBytes: 8 * MiB,
    rememberedTokensMax: 16,
    /** Memory of one token, whatever its length, and of one subject besides its name. Measured. */
    rememberedTokenBytes: 256,
    rememberedSubjectBytes: 640,
  },

  trace: {
    closeMs: second,
  },

  store: {
    /** A token alone has half. */
    queuePlantsMax: 20_000,
    /** Of waiting plants, counted as the bytes of their bodies. */
    queueBytesMax: 64 * MiB,
    /** From a valid request until its plant is durable. Default of `--commit-timeout`. */
    commitMs: 4 * second,
    commitMsMax: 24 * 3_600 * second,
    /** In about this time a thread answers a create and reads the next one. */
    turnMs: 0.01,
    /** A batch waits for clients until none sends for this time, or a quarter of a transaction. */
    clientsPauseMs: 0.5,
    /** Time that a batch gathers while other batches are committed. PostgreSQL only. */
    gatherMs: 1,
    /** UTF-16 units of names and tags in one read of `plants list`, which must not hold the WAL. */
    listPageChars: 64 * KiB,
    /** One step of `plants list` and `plants count`. Signals are answered between two steps. */
    listStepMs: 100,
    /** A step of `plants list` that finds fewer is followed by one scan of a database. */
    sparsePlants: 10,
    /** Plants in the first window of a search. Windows that take less time grow fourfold. */
    searchWindowPlants: 250,
    searchWindowMs: 20,
    /** The most that two clocks may differ. A stored time that is further ahead is of a wrong clock. */
    clocksApartMs: 60 * second,
    /** Plants, and UTF-16 units of names and tags, in one page of a snapshot. */
    snapshotPagePlants: 10_000,
    snapshotPageChars: 512 * KiB,
    /** UTF-16 units of plants that go into the digest in one step. */
    digestChunkChars: MiB,
    backupsRecorded: 100,
    /** Tokens that one statement writes. */
    statementRows: 500,
  },

  sqlite: {
    /** SQLite's page size in the stores that the service makes. */
    pageBytes: 4 * KiB,
    /** Plants in a row of the journal that an upgrade fills. */
    filledRowPlants: 1_000,
    /** With more pages, the rate falls to a quarter, and pauses take 90 ms instead of 9. */
    checkpointPages: 1_000,
    /** Passes of a checkpoint beside creates, at most, and the pages that may be left for the lock. */
    checkpointPasses: 5,
    lockedPages: 100,
    /** Disk space that an empty WAL keeps. Only readers make the WAL grow beyond it. */
    walBytesKept: 64 * MiB,
    /** Wait of a checkpoint for readers of a larger WAL; interval of the waits (1 % of creates). */
    readersMs: 50,
    readersEveryMs: 10 * second,
    /** A full WAL takes no plants. Recovery takes 0.7 s, the copy 0.8 s. */
    walBytesMax: 4 * GiB,
    /** Saving a store whose files are gone. A disk that does not return gets as much again. */
    rescueMs: 60 * second,
    /** A note of a failed sync that cannot be left is tried again. */
    noteRetryMs: second,
    /** Written and synced at once. With less, the syncs take the time. */
    rescueChunkBytes: 16 * MiB,
    /** The largest store that is checked for damage at the start. */
    checkedAtStartBytes: 64 * MiB,
    /** More than a tick of the clock that stamps files. */
    fileTimeMs: 20,
    /** A new store takes up to 100 KiB, a stopped one 32 KiB. */
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
    /** A connection that is not needed for this time is closed. */
    connectionIdleMs: 300 * second,
    /** After this time another connection takes the place of a connection. */
    connectionAgeMs: 1_800 * second,
    /** Transactions with plants that one thread has open at a time. */
    batchesMax: 3,
    /** One more than transactions with plants: tokens are read meanwhile. */
    connectionsPerThread: 4,
    /** Attempts at a transaction that conflicts with others; first pause, which doubles. */
    conflictTries: 8,
    conflictPauseMs: 5,
    /** An upgrade waits this long for a lock, pauses, and tries again for this time. */
    upgradeLockMs: 200,
    upgradePauseMs: 2 * second,
    upgradeMs: 20 * second,
    /** The whole upgrade, which builds an index of all plants. */
    upgradeStepMs: 600 * second,
    pageRows: 5_000,
    /** In a transaction with plants that the database refuses, all tries to find these plants. */
    savepointsMax: 64,
    /** Refused plants that a thread remembers, each with a reason of 300 bytes, for this time. */
    refusedMax: 1_000,
    refusedMs: 5 * second,
    /** Interval of the test writes of a running service; interval after one that has failed. */
    testWriteMs: 10 * second,
    testTextChars: 8_000,
    /** Of what the server says of a plant that it refuses in a test write. */
    testMessageChars: 200,
    /** With more plants, VALUES is the slower statement for Citus. */
    citusRowsMax: 1_000,
    snapshotIdleMs: 10 * 60 * second,
    /** All questions of `doctor` to a database. */
    conditionMs: 10 * second,
    /** The row of a stopped node is kept for this time. */
    heartbeatKeptMs: 24 * 3_600 * second,
    /** Standbys that were too few count again after this time. */
    standbysSettleMs: second,
    /** Creating or dropping the schema that `prove` uses. */
    scratchMs: 60 * second,
  },

  disk: {
    chunkBytes: MiB,
    /** Less free space is an error: the WAL takes half of it before a checkpoint. */
    freeBytesMin: 8 * MiB,
    /** Warning: fewer bytes, or a smaller share unless `freeBytesPlenty` are free. */
    freeBytesLow: GiB,
    freePercentLow: 10,
    freeBytesPlenty: 16 * GiB,
  },

  transfer: {
    columnsShown: 20,
    /** Bytes that `import` reads, and stores in one transaction. */
    importChunkBytes: 256 * KiB,
    /** A running service writes in the pauses: the p99 of its creates is 5 ms instead of 9. */
    importPauseMs: 2,
    /** `import` retries this long against a store that takes no plants; pause between retries. */
    importWaitMs: 60 * second,
    /** Plants of one transaction of `import` among which a database has refused many. */
    importPlantsMin: 16,
    importRetryMs: 250,
    /** Extra length of a plant in a file: `1e18` in a body is exported as 19 digits. */
    idBytesMax: 20,
    /** Part of a line that is too large, kept to show the line. */
    refusedExcerptBytes: 1_000,
    copyIdsShown: 5,
    /** A copy compares the sums of so many plants that are so much older than the newest copied. */
    copyKnownMin: 1_000_000,
    copyOverlapMs: 600 * second,
  },

  cli: {
    /** Wait for a turn to write beside a running service. */
    lockMs: 10 * second,
    /** One read of a database, which may go through all plants. */
    readMs: 3_600 * second,
    healthMs: 5 * second,
    replyBytesMax: 16 * MiB,
    /** A browser command that still runs has succeeded. */
    browserMs: second,
    /** `doctor` warns if the clock of the database differs by more. */
    databaseClockApartMs: 5 * second,
    /** Interval of the progress bar, and of progress lines where there is no terminal. */
    progressBarMs: 100,
    progressLineMs: 10 * second,
    listPlantsDefault: 100,
    cellCharsMax: 60,
    /** Rows that a table reads before it prints, to set the width of its columns. */
    tableRowsMeasured: 1_000,
  },

  prove: {
    seconds: 20,
    /** Connections, each with one create under way. */
    connections: 16,
    /** A kill follows after at most this many acknowledged creates. */
    killAfterMax: 10_000,
    /** No load takes more than this fraction (1/n) of the time. */
    livesMin: 5,
    /** Less free space is an error: a disk that is full during the proof proves nothing. */
    freeBytesMin: 512 * MiB,
    syncMs: second,
    /** No drive syncs faster, unless its cache survives a power loss. */
    syncMsMin: 0.02,
    answerMs: 60 * second,
  },

  backup: {
    /** Wait for another process that works on the backups in a folder; pause between two looks. */
    folderWaitMs: 3_600 * second,
    folderRetryMs: second,
    /** A step of the clock of this length between two backups is trusted. */
    usualStepMs: 2 * 3_600 * second,
    /** Earlier backups that a manifest lists as held, and as lacking. */
    listedMax: 1_000,
    /** A manifest also lists all backups that were given up. */
    manifestBytesMax: 16 * MiB,
    /** Age of a manifest without its backup at which the manifest is removed. */
    leftoverMs: 24 * 3_600 * second,
  },

  schedule: {
    /** Shortest and longest time between two looks at what is due. */
    restMs: second,
    lookMs: 60 * second,
    retryMs: 300 * second,
  },

  ops: {
    /** Connections that the kernel queues. Beyond it, a probe connects again 1 s later. */
    backlog: 4_096,
    /** A connection without a request. The console sends its next request sooner. */
    idleMs: 5 * second,
    bodyBytesMax: 16 * KiB,
    heartbeatEveryMs: 2 * second,
    heartbeatRetryMs: 500,
    /** Failures in a row that make the service unready. */
    heartbeatFailuresMax: 2,
    /** Age of the last write at which the service is unready. */
    heartbeatStaleMs: 5 * second,
    /** The console warns of an older backup, as an alert does. */
    backupAgeMs: 7 * 24 * 3_600 * second,
    /** Time that `/metrics` and the console wait for figures of the store. */
    storeFiguresMs: second,
    /** Interval and number of the samples that the console shows: 15 minutes. */
    samplesEveryMs: second,
    samplesKept: 900,
    /** Shortest interval in which the figures of the overview are gathered. */
    overviewEveryMs: second,
    /** Time in which the overview counts recent creates and refusals, and names their clients. */
    talliesMs: 60 * second,
    /** Tokens and subjects with figures of their own. */
    tokenFiguresMax: 1_000,
    /** Shortest interval of the reads of the tokens in force, for metrics and the overview. */
    liveTokensEveryMs: 60 * second,
    /** Names of clients or tokens in one line of what needs attention. */
    attentionNamesMax: 5,
    refusalsKept: 1_000,
    /** Wrong tokens that are answered at once; interval of further answers. */
    guessesAtOnce: 5,
    guessEveryMs: 5 * second,
    /** Plants in one page of a search, and the default. */
    searchPlantsMax: 200,
    searchPlantsDefault: 50,
    searchTextCharsMax: 1_000,
    /** Time of one search. The reply says where to go on. */
    searchMs: 250,
    /** Reads that wait for one another. Further reads are refused. */
    readsMax: 16,
    readMs: 10 * second,
    /** The thread for reads ends after this time without a read. */
    readerIdleMs: 10 * second,
    /** Time of one step of a count of all plants. Searches run between two steps. */
    countStepMs: 50,
    /** Shortest interval of two counts. The pause is at least `countPauses` counts long. */
    countEveryMs: 60 * second,
    countPauses: 100,
    /** A plant that was counted is known as created after this time. */
    countSettlesMs: second,
    /** Backups that the console lists; shortest interval of two looks into their folder. */
    backupsShown: 1_000,
    backupsEveryMs: second,
    /** One look into the folder, which may be on a network drive. */
    backupsMs: 4 * second,
    tokenDaysMax: 36_500,
    pastTokensShown: 1_000,
  },
} as const;

export type Limits = Widened<typeof limits>;
type Widened<T> = { readonly [K in keyof T]: T[K] extends number ? number : Widened<T[K]> };

/** @throws Error that says which two bounds contradict each other */
export function demandFit(bounds: Limits): void {
  const { access, disk, http, ops, postgres, service, sqlite, store } = bounds;
  const rules: readonly (readonly [isKept: boolean, rule: string])[] = [
    [http.headersMs <= http.requestMs, 'header fields are a part of the request'],
    [2 * http.bodyBytesMax <= store.queueBytesMax, 'the largest plant fits into half of the queue'],
    [access.refreshMs < access.staleMs, 'tokens are read again before they are stale'],
    [
      2 * ops.heartbeatEveryMs <= ops.heartbeatStaleMs,
      'one late test write does not make the service unready',
    ],
    [
      2 * sqlite.checkpointPages * sqlite.pageBytes <= disk.freeBytesMin,
      'a checkpoint fits into the space that is no error yet',
    ],
    [
      postgres.connectionsPerThread === postgres.batchesMax + 1,
      'a thread can read tokens beside its transactions',
    ],
    [disk.freeBytesMin < disk.freeBytesLow, 'free space is a warning before it is an error'],
    [disk.freeBytesLow <= disk.freeBytesPlenty, 'plenty of free space is no warning'],
    [service.opsConnectionsMax < service.callsMax, 'every operator can ask the store at a time'],
    [sqlite.walBytesKept < sqlite.walBytesMax, 'a WAL of the usual size is not full'],
  ];
  const broken = rules.find(([isKept]) => !isKept);
  if (broken) throw new Error(`two limits contradict each other: ${broken[1]}`);
}

demandFit(limits);
