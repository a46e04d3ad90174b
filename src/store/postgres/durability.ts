import type { CommitPromise } from '../store.ts';
import type { SessionSettings } from './session.ts';

/** Sources: runtime-config-wal.html and runtime-config-replication.html. */
export function commitPromise(settings: SessionSettings): CommitPromise {
  const { version, fsync, fullPageWrites, synchronousStandbyNames } = settings;
  const engine = replicatingEngine(version);
  if (engine !== undefined) {
    return promise(
      'kept',
      `${engine} copies each plant to its replicas before it is acknowledged, as its own settings have it`,
    );
  }
  if (fsync === 'off')
    return promise(
      'lost',
      'with fsync=off, a crash of the machine may take any plant and damage the database',
    );
  const { level, says } = whereKept(synchronousStandbyNames);
  return promise(level, fullPageWrites === 'off' ? `${says}; ${tornPages}` : says);
}

const tornPages =
  'full_page_writes=off is only safe on a file system that writes each page whole or not at all, such as ZFS';

/** These engines accept settings of PostgreSQL without effect. */
export function replicatingEngine(version: string): 'CockroachDB' | 'YugabyteDB' | undefined {
  if (version.startsWith('CockroachDB')) return 'CockroachDB';
  return version.includes('-YB-') ? 'YugabyteDB' : undefined;
}

function whereKept(standbys: string | null): CommitPromise {
  const here = 'each plant is on the disk of the server before it is acknowledged';
  if (!standbys)
    return promise('kept here', `${here}; a standby that takes over may lack the last ones`);
  const others = `on the disks of as many standbys as synchronous_standby_names='${standbys}' asks for`;
  return promise('kept', `${here}, and ${others}`);
}

function promise(level: CommitPromise['level'], says: string): CommitPromise {
  return { level, says };
}
