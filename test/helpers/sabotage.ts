import { existsSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { isMainThread } from 'node:worker_threads';

/*
 * Loaded into the threads of a server before its own code (node --import), to bring about what cannot be had from outside.
 * SABOTAGE names what, and it is in force as long as there is a file at SABOTAGE_WHILE.
 */

const yearMs = 365 * 86_400_000;
const inForce = () => existsSync(process.env['SABOTAGE_WHILE'] ?? '');

const sabotages: Readonly<Record<string, () => void>> = {
  'writer hangs': () =>
    beforeCommit(() => {
      while (inForce()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }),
  'writer ends': () => beforeCommit(() => process.exit()),
  'writer throws': () =>
    beforeCommit(() =>
      setImmediate(() => {
        throw new Error('thrown by the test');
      }),
    ),
  'clock is a year back': () => {
    const now = Date.now;
    Date.now = () => now() - (inForce() ? yearMs : 0);
  },
};

/** Only on the threads beside the main one: of those, only the writer commits. */
function beforeCommit(sabotage: () => void): void {
  const { exec } = DatabaseSync.prototype;
  DatabaseSync.prototype.exec = function (sql) {
    if (sql === 'COMMIT' && !isMainThread && inForce()) sabotage();
    return exec.call(this, sql);
  };
}

sabotages[process.env['SABOTAGE'] ?? '']?.();
