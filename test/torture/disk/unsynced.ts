import { DatabaseSync } from 'node:sqlite';

/*
 * Preloaded into a server, this keeps SQLite from syncing. A run that does not find the losses of
 * such a server is blind.
 */

const exec = DatabaseSync.prototype.exec;
DatabaseSync.prototype.exec = function execUnsynced(sql: string): void {
  exec.call(this, sql.replace(/synchronous\s*=\s*FULL/i, 'synchronous = OFF'));
};
