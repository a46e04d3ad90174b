const second = 1_000;
const KiB = 1_024;
const MiB = 1_024 * KiB;
const GiB = 1_024 * MiB;

/**
 * Every bound of the service, in the unit that its name ends with. Those that an operator may change are only
 * the defaults of flags (see config.ts); the others hold as they stand here.
 */
export const limits = Object.freeze({
  /** A request body. Default of `--body-limit`. */
  bodyBytesMax: MiB,
  /** Memory that bodies may hold that have arrived in part. */
  arrivingBytesMax: 64 * MiB,
  /** Nesting of a JSON body, the outermost object counted as 1. */
  jsonDepthMax: 100,
  /** What a message shows of a text that a client sent. */
  excerptCharsMax: 64,

  /** Request line and header fields of one request, together; as much again for the trailers, and for what chunks have besides data. */
  headerBytesMax: 16 * KiB,
  /** Header fields of one request, and its trailers. */
  headerFieldsMax: 1_000,
  /** Line ends before the request line of one request. RFC 9112 §2.2 asks a server to skip one. */
  emptyLineBytesMax: KiB,
  /** A head that a connection remembers for the next request. It lasts as long as the connection, and one of many fields takes 100 KiB. */
  rememberedHeadBytes: KiB,
  /** From the first byte of a request to the end of its header fields. Never longer than the whole request may take. */
  headersMs: 10 * second,
  /** From the first byte of a request to its last. Default of `--request-timeout`. */
  requestMs: 30 * second,
  /** A connection with no request under way. Longer than the usual load balancer's 60 s, so that it closes first. */
  idleMs: 65 * second,
  /** How often expired requests and connections are looked for. */
  expiryCheckMs: 500,
  /** Threads that answer requests, where the machine has more cores than that and nobody has said how many. */
  httpThreadsAuto: 4,
  /** Open connections, where the descriptors of the process suffice and `--connection-limit` does not say otherwise. */
  connectionsMax: 20_000,
  /** File descriptors that are no connections: those of the process, and of each thread that answers requests. */
  descriptorsOfProcess: 36,
  descriptorsOfHttpThread: 10,
  /** Connections that must be possible, or the service does not start. */
  connectionsMin: 8,
  /** Requests that await their replies on one connection, before nothing more is read there. */
  pipelineMax: 64,
  /** Requests that await their replies behind others on their connections, in all; then none is begun behind another. */
  pipelinedInAllMax: 20_000,
  /** Replies that a client has not taken, before nothing more is read from it. What the kernel keeps comes on top. */
  unsentBytes: 16 * KiB,
  /** Reading on after a refusal, so that the client can read the reply before the connection goes. */
  lingerMs: 2 * second,
  lingerBytes: 4 * MiB,

  /** Plants waiting for a transaction. Default of `--queue-limit`. */
  queuePlantsMax: 10_000,
  /** Memory that waiting plants may hold, counted by the bytes of their bodies. */
  queueBytesMax: 32 * MiB,
  /** From handing a plant over to the answer that it is durable. Default of `--commit-timeout`. */
  commitMs: 4 * second,
  /** From SIGTERM until connections that are still busy are cut. Default of `--drain-timeout`. */
  drainMs: 10 * second,
  /** A second SIGINT within this time after the first signal belongs to the same stop; a later one ends the service at once. */
  interruptAgainMs: second,
  /**
   * From SIGTERM on, a connection serves one more request, if that begins in this time: a client that uses the connection
   * more often than that never meets a closed one.
   */
  drainIdleMs: second,

  /** Tokens that are neither revoked nor expired. */
  tokensLiveMax: 1_000,
  /** Of those that are revoked or expired, the console shows the last. */
  tokensPastShown: 1_000,
  tokenNameCharsMax: 100,
  /** Requests without a valid token that a thread refuses at once in a second; with more of them, each is refused a little later. */
  refusalsAtOnce: 1_000,
  refusalDelayMs: 50,
  /** A bearer token as a client sends it. */
  tokenCharsMax: 512,
  /** A file with one token in it, and white space around the token. */
  tokenFileBytesMax: 4 * KiB,
  /** How often a running service reads the tokens again. */
  tokensRefreshMs: second,
  /** How often at most the threads of a service together read the tokens once more for a token that is not known. */
  tokensReadAgainMs: 100,
  /** The same as `tokensRefreshMs` while they cannot be read, as nobody is admitted soon. */
  tokensRetryMs: 250,
  /** A revocation is in force by then: tokens read longer ago than this admit nobody. */
  tokensStaleMs: 2 * second,
  /** How often the times at which tokens were last used are written down. */
  tokenUseFlushMs: 60 * second,

  /**
   * Pages that the log of an SQLite store gains before they are copied into its file. Creates wait for the copy: of ascending ids 3 % of the
   * time, of random ones among 20 million plants 60 %, in pauses of 9 ms. There, 16,000 pages made a quarter more creates at best, and pauses of 90 ms.
   */
  checkpointPages: 1_000,
  /**
   * What the log keeps of the disk when it begins anew. A larger one is held by readers: the writer then waits for them now and
   * then.
   */
  logBytesKept: 64 * MiB,
  /** How long it waits for them: readers of half that time have ended then. How seldom, so that less than one create in a hundred waits with it. */
  readersMs: 50,
  readersEveryMs: 10 * second,
  /**
   * A log of this size takes no more plants. Its index takes 8 MiB of memory, reading it after a kill 0.7 s, and copying it, when the
   * reader that has held it ends, 0.8 s (20 million plants, random ids): all well below the time that a create may wait.
   */
  logBytesMax: 4 * GiB,
  /** A store that is not larger is read through at the start. */
  checkedAtStartBytes: 64 * MiB,

  /** Backups that a store remembers. */
  backupsRecorded: 100,
  /** A backup that is older is warned of. */
  backupAgeMs: 7 * 24 * 3_600 * second,
  /** The manifest of a backup, which takes some 500 bytes. */
  manifestBytesMax: 64 * KiB,
  /** How long a command waits for its turn to write while a server is writing. */
  commandLockMs: 10 * second,
  /** How long it waits for the answer to one read of a database on another machine, which may have to go through all plants. */
  commandReadMs: 10 * 60 * second,
  /** What is read of a file at a time to copy or to check it. */
  fileChunkBytes: MiB,
  /** What a backup copies at a time, in pages of 4 KiB. In between it only says how far it is. */
  backupStepPages: 1_000,
  /** Lines of plants, in UTF-16 units, that go into a digest at a time. */
  digestChunkChars: MiB,
  /** Names and tags, in UTF-16 units, that `plants list` reads at a time, as its output may be slow and must not hold the log. */
  listPageChars: 64 * KiB,
  /** Plants that come at a time out of a snapshot, and names and tags of them. `copy` stores those that are lacking in one transaction. */
  snapshotPagePlants: 10_000,
  snapshotPageChars: 512 * KiB,
  /**
   * What `import` reads at a time and stores in one transaction, and how long it lets others write before the next: a service tries every
   * millisecond. Beside 8 connections the p99 of a create is 5 ms with the pause and 9 ms without; beside a process that does nothing but
   * compute it is 3 ms.
   */
  importChunkBytes: 256 * KiB,
  importPauseMs: 2,
  /** How much longer a plant may be in a file than it was in a body, where an id may have come as `1e18`. */
  idBytesMax: 20,
  /** How long `import` waits for a store that takes nothing, after each try the time below. */
  importWaitMs: 60 * second,
  importRetryMs: 250,
  /** Ids that `copy` names, of plants that the two stores do not have in common. */
  copyIdsShown: 5,
  /** What `import` keeps of a line that is too large, to show it. */
  refusedExcerptBytes: 1_000,
  /** How often a bar of progress is drawn, and how often a line says so where there is no terminal. */
  progressBarMs: 100,
  progressLineMs: 10 * second,
  /** What `plants list` prints when it is not told how many. */
  listPlantsDefault: 100,
  /** Rows of a table that are kept at a time, to see how wide its columns must be. */
  tableRowsMeasured: 1_000,

  /** A try to connect to one host of a database, unless `connect_timeout` says otherwise; and the pause after one that has failed. */
  databaseConnectMs: 2 * second,
  databaseRetryMs: 250,
  /** A password file, a key, or certificates: those of all public authorities take 300 KiB. */
  credentialFileBytesMax: 4 * MiB,
  /** A connection on which nothing has come for so long is asked whether it is still there. */
  databaseKeepAliveMs: 10 * second,
  /** A transaction that has nothing to do for so long, as its node has stopped, is rolled back by the server, with its locks. */
  databaseIdleInTransactionMs: 5 * second,
  /** Transactions with plants that a thread has under way at the same time. */
  databaseBatchesMax: 3,
  /** For how long the next of them gathers while others are under way. */
  databaseGatherMs: 1,
  /** Work that others were in the way of is tried so often, after pauses of twice as much each time. */
  conflictTries: 8,
  conflictPauseMs: 5,
  /** Rows that are read from a database at a time. */
  databasePageRows: 5_000,
  /** How long whoever reads a snapshot may take between two pages. */
  snapshotIdleMs: 10 * 60 * second,
  /** How long `doctor` waits for a database, in all. */
  databaseConditionMs: 10 * second,
  /** A standby that is further behind is warned of. */
  standbyLagBytesHigh: 64 * MiB,
  /** What is left of a node that is no more. */
  heartbeatKeptMs: 24 * 3_600 * second,

  /** Free space that `doctor` calls an error: the log takes half of this before it is copied, so creates fail now or soon. */
  freeBytesMin: 8 * MiB,
  /**
   * Free space that `doctor`, the console, metrics and alerts warn of: less than this, or less than a share of the disk, unless that is
   * plenty. The service stays ready, since creates are stored.
   */
  freeBytesLow: GiB,
  freePercentLow: 10,
  freeBytesPlenty: 16 * GiB,
  /** Files that may still be made. The store needs four, and as many again for a backup beside it. */
  freeInodesMin: 8,
  freeInodesLow: 1_000,
  /** A log that has grown beyond this is held by somebody. */
  logBytesHigh: 256 * MiB,
  /** How far behind the last write the clock may be: corrections by a time server are smaller. */
  clockBehindMs: 5 * second,

  /** How long `prove` loads and kills a server, when it is not told. */
  proveSeconds: 20,
  /** Its connections, each with one create under way. */
  proveConnections: 16,
  /** The most creates that are acknowledged between a start and the kill. */
  proveKillAfterMax: 10_000,
  /** None of its loads takes more than this part of the time. */
  proveLivesMin: 5,
  /** Plants in its store, before it goes on with a new one: some 150 MiB. */
  provePlantsMax: 1_000_000,
  /** Free space without which it does not begin. */
  proveFreeBytesMin: 512 * MiB,
  /** What it waits for a database to make or drop the place of a store, whose plants are then removed. */
  scratchMs: 60 * second,
  /** How long it measures the disk. */
  proveSyncMs: second,
  /** A server that is not ready by then, or lets a create wait for so long, has failed. */
  proveAnswerMs: 60 * second,
  /** No drive syncs faster than this, unless its cache is protected against the loss of power. */
  syncMsMin: 0.02,

  /**
   * Connections to the operators' listener. A scraper, a prober and some browsers with six each need
   * `opsConnectionsMin`. A client that floods the port opens some 10,000 a second, and each new one
   * closes the idlest: with `opsConnectionsMax`, a probe has 50 ms to send its request. Between the
   * two, the listener takes one file descriptor in `descriptorsPerOpsConnection`.
   */
  opsConnectionsMin: 32,
  opsConnectionsMax: 512,
  descriptorsPerOpsConnection: 8,
  /**
   * Connections that the system keeps until the listener accepts them. If a flood fills this queue, a
   * probe has to connect again, 1 s later.
   */
  opsBacklog: 4_096,
  /** How long one is kept without a request: longer than the pages of the console pause, and soon free for somebody else. */
  opsIdleMs: 5 * second,
  /** What its requests may take when the service stops. */
  opsCloseMs: second,
  /** File descriptors of the operator listener, besides its connections, and of the thread that reads for it. */
  descriptorsOfOperators: 14,
  /** How often the store is written to, to know that it takes writes; and when a write is too long ago for the service to be ready. */
  heartbeatEveryMs: 2 * second,
  heartbeatStaleMs: 5 * second,
  /** When the next comes after one that has failed, and how many that fail one after the other make the service unready. */
  heartbeatRetryMs: 500,
  heartbeatFailuresMax: 2,
  /** How long `/metrics` and the console wait for what the store tells of itself; they do without what comes later. */
  storeFiguresMs: second,

  /** How often what the threads measure is looked at for the console, and how many such looks it keeps: 15 minutes. */
  samplesEveryMs: second,
  samplesKept: 900,
  /** The body of one of its requests. */
  opsBodyBytesMax: 16 * KiB,
  /**
   * How long an operator stays signed in to the console, and how many sessions one token has: enough for a team that shares the token. The
   * next sign-in ends the oldest session. With `tokensLiveMax`, this also bounds all sessions together.
   */
  sessionMs: 12 * 3_600 * second,
  sessionsPerTokenMax: 20,
  /** Wrong tokens that are refused at once; after them, one in this time. */
  guessesAtOnce: 5,
  guessEveryMs: 5 * second,
  /** Plants that a search may be asked for at a time, what a text in it may have in UTF-16 units, and how long it looks. */
  searchPlantsMax: 200,
  searchPlantsDefault: 50,
  searchTextCharsMax: 1_000,
  searchMs: 250,
  /** Plants that it looks at first. It goes on to four times as many, for as long as that takes less time than this. */
  searchWindowPlants: 250,
  searchWindowMs: 20,
  /** Searches and the like that wait for one another; more are refused. */
  opsReadsMax: 16,
  /** One that a database on another machine does not answer by then has failed. */
  opsReadMs: 10 * second,
  /** The thread that does them ends when nobody has asked it for so long. */
  opsReaderIdleMs: 10 * second,
  /** Plants that are counted at a time, while searches wait. */
  countWindowPlants: 250_000,
  /** How seldom all are counted for those who ask, and how many times as long as it took is waited in between. */
  countEveryMs: 60 * second,
  countPauses: 100,
  /** A token that the console makes. */
  tokenDaysMax: 36_500,

  /** How often what happens too often for a line each is summed up in the log. */
  logSummaryMs: 10 * second,
});
