import type { CommitPromise } from '../store.ts';
import type { SessionSettings } from './session.ts';

/** Sources: runtime-config-wal.html and runtime-config-replication.html. */
export function commitPromise(settings: SessionSettings): CommitPromise {
  const { fsync, fullPageWrites, synchronousStandbyNames: standbys } = settings;
  if (fsync === 'off')
    return {
      level: 'lost',
      says: 'with fsync=off, a crash of the machine may take any plant and damage the database',
    };
  const others = standbys
    ? `, and on the disks of as many standbys as synchronous_standby_names='${standbys}' asks for`
    : '; a standby that takes over may lack the last ones';
  return {
    level: standbys ? 'kept' : 'kept here',
    says:
      `each plant is on the disk of the server before it is acknowledged${others}` +
      (fullPageWrites === 'off' ? tornPages : ''),
  };
}

const tornPages =
  '; full_page_writes=off is only safe on a file system that writes each page whole or not ' +
  'at all, such as ZFS';
