/** What a service does at regular times for the safety of its store. */
export type JobName = 'backup' | 'scrub' | 'drill';

/** One run of a job, by a service or by a command. */
export interface JobRun {
  readonly name: JobName;
  /** End of the run, in milliseconds since the epoch. */
  readonly atMs: number;
  /** For a drill, the time to recover. */
  readonly tookMs: number;
  /** Why the run has failed, as a sentence. Undefined: it has succeeded. */
  readonly fault?: string | undefined;
}

/** What a store knows of a job. Times are in milliseconds since the epoch. */
export interface JobRecord {
  readonly name: JobName;
  /** End of the last run. */
  readonly ranAtMs: number;
  /** Of the last run. */
  readonly fault: string | undefined;
  /** The last run that succeeded; undefined if none has. */
  readonly success: { readonly atMs: number; readonly tookMs: number } | undefined;
}

export interface JobReader {
  /** The jobs that have run, by name. */
  listJobs(): Promise<readonly JobRecord[]>;
}

export interface JobWriter {
  recordJob(run: JobRun): Promise<void>;
}
