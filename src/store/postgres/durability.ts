import type { CommitPromise } from '../store.ts';
import type { SessionSettings } from './session.ts';

/** Sources: runtime-config-wal.html and runtime-config-replication.html. */
export function commitPromise(settings: SessionSettings): CommitPromise {
  const { fsync, fullPageWrites, synchronousStandbyNames } = settings;
  if (fsync === 'off')
    return promise(
      'lost',
      'with fsync=off, a crash of the machine may take any plant and damage the database',
    );
  const { level, says } = whereKept(synchronousStandbyNames);
  return promise(level, fullPageWrites === 'off' ? `${says}; ${tornPages}` : says);
}

const tornPages =
  'full_page_writes=off is only safe on a file system that writes each page whole or not ' +
  'at all, such as ZFS';

function whereKept(standbys: string): CommitPromise {
  const here = 'each plant is on the disk of the server before it is acknowledged';
  if (!standbys)
    return promise('kept here', `${here}; a standby that takes over may lack the last ones`);
  const others = `on the disks of as many standbys as synchronous_standby_names='${standbys}' asks for`;
  return promise('kept', `${here}, and ${others}`);
}

function promise(level: CommitPromise['level'], says: string): CommitPromise {
  return { level, says };
}
