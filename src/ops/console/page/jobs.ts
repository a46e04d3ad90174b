import type { JobName } from '../../contract.ts';

interface JobTexts {
  readonly title: string;
  /** While the job runs. */
  readonly doing: string;
}

/** The jobs, in the words of the flags. */
export const jobTexts: Readonly<Record<JobName, JobTexts>> = {
  backup: { title: 'Backup', doing: 'Making a backup' },
  scrub: { title: 'Scrub', doing: 'Comparing the store with its last backup' },
  drill: { title: 'Restore drill', doing: 'Restoring the last backup' },
  verify: { title: 'Check', doing: 'Verifying' },
};
