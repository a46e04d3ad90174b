import { limits } from '../limits.ts';
import { StoreError, StoreOpenError } from '../store/errors.ts';
import type { JobName, JobRun } from '../store/jobs.ts';
import type { StoreLocation } from '../store/location.ts';
import { openExistingStore } from '../stores.ts';
import { CommandError, type Terminal } from './command.ts';

/**
 * Does a job, and records in the store when it ended, how long it took, and why it has failed. The
 * result of the job counts without the record. A failure that a person reads at a terminal is not
 * recorded: it may be of a wrong folder, and would raise the alert for the scheduled job.
 *
 * @param timeOf milliseconds to record; by default the whole time of `work`
 * @throws what `work` throws
 */
export async function runJob<T>(
  name: JobName,
  location: StoreLocation,
  terminal: Terminal,
  work: () => Promise<T>,
  timeOf?: (result: T) => number,
): Promise<T> {
  const startedMs = performance.now();
  const record = (tookMs: number, fault?: string) =>
    recordRun({ name, atMs: Date.now(), tookMs, fault }, location, terminal.note);
  const passedMs = () => Math.round(performance.now() - startedMs);
  let result: T;
  try {
    result = await work();
  } catch (error) {
    if (terminal.errorsWidth === undefined) await record(passedMs(), (error as Error).message);
    throw error;
  }
  await record(timeOf?.(result) ?? passedMs());
  return result;
}

function isExpected(error: unknown): error is Error {
  return (
    error instanceof CommandError || error instanceof StoreError || error instanceof StoreOpenError
  );
}

/** @param onFailure gets the reason, as a sentence */
export async function recordRun(
  run: JobRun,
  location: StoreLocation,
  onFailure: (why: string) => void,
): Promise<void> {
  try {
    await using store = await openExistingStore(location, limits.cli.lockMs);
    await store.recordJob(run);
  } catch (error) {
    if (!isExpected(error)) throw error;
    onFailure(`The run could not be recorded in the store: ${error.message}`);
  }
}
