import type { SessionSettings } from './session.ts';

/** What it means that a transaction has been committed. */
export interface CommitPromise {
  /**
   * `kept`: on the disk of the server and of others, so that it outlives the server. `kept here`: on the disk of the server, so that it
   * outlives a power cut. `lost`: a crash may take it.
   */
  readonly level: 'kept' | 'kept here' | 'lost';
  /** A sentence for an operator, without its full stop. */
  readonly says: string;
}

/** What a commit of this session promises (runtime-config-wal.html, synchronous_commit; runtime-config-replication.html). */
export function commitPromise(settings: SessionSettings): CommitPromise {
  const engine = /^CockroachDB|-YB-/.exec(settings.version)?.[0];
  if (engine !== undefined) {
    const name = engine === '-YB-' ? 'YugabyteDB' : engine;
    return { level: 'kept', says: `${name} has each plant on the disks of most replicas before it is acknowledged` };
  }
  if (settings.fsync === 'off')
    return { level: 'lost', says: 'with fsync=off, a crash of the machine may take any plant and damage the database' };
  if (settings.synchronousCommit === 'off') {
    return { level: 'lost', says: 'with synchronous_commit=off, a crash takes the plants that were acknowledged in the last moments' };
  }
  const { level, says } = whereKept(settings.synchronousCommit, settings.synchronousStandbyNames);
  return settings.fullPageWrites === 'off' ? { level, says: `${says}; ${tornPages}` } : { level, says };
}

const tornPages = 'full_page_writes=off is only safe where the file system writes each page whole or not at all, such as ZFS';

function whereKept(synchronousCommit: string | null, standbys: string | null): CommitPromise {
  const here = 'each plant is on the disk of the server before it is acknowledged';
  const others = `those standbys that synchronous_standby_names='${standbys}' asks for`;
  if (!standbys) return { level: 'kept here', says: here };
  switch (synchronousCommit) {
    case 'local':
      return { level: 'kept here', says: `${here}, and with synchronous_commit=local no standby is waited for` };
    case 'remote_write':
      return { level: 'kept here', says: `${here}, and in the memory of ${others}` };
    case 'remote_apply':
      return { level: 'kept', says: `${here}, and on that of ${others}, where it can be read` };
    default:
      return { level: 'kept', says: `${here}, and on that of ${others}` };
  }
}
