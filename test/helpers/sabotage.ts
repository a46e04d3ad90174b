import { existsSync, type PathLike } from 'node:fs';
import promises from 'node:fs/promises';
import { registerHooks, syncBuiltinESMExports } from 'node:module';
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
  'disk cannot be asked': () => {
    const { statfs } = promises;
    const refused = (path: PathLike) => Promise.reject(new Error(`EIO: i/o error, statfs '${path}'`));
    promises.statfs = ((path: PathLike) => (inForce() ? refused(path) : statfs(path))) as typeof statfs;
    syncBuiltinESMExports();
  },
  // In force from the start, for as long as the process lives.
  'log is to be small': () =>
    setLimits({ checkpointPages: '10', logBytesKept: '256 * KiB', readersEveryMs: '100', logBytesHigh: 'MiB', logBytesMax: '16 * MiB' }),
  'disk is measured briefly': () => setLimits({ proveSyncMs: '50' }),
};

/** Has the program read its limits with these in place of its own. */
function setLimits(changed: Readonly<Record<string, string>>): void {
  registerHooks({
    load(url, context, nextLoad) {
      const loaded = nextLoad(url, context);
      if (!url.endsWith('/src/limits.ts')) return loaded;
      let source = String(loaded.source);
      for (const [name, value] of Object.entries(changed)) source = source.replace(new RegExp(`(?<=\\b${name}: )[^,]+`), value);
      return { ...loaded, source };
    },
  });
}

/** Only on the threads beside the main one: of those, only the writer commits. */
function beforeCommit(sabotage: () => void): void {
  const { exec } = DatabaseSync.prototype;
  DatabaseSync.prototype.exec = function (sql) {
    if (sql === 'COMMIT' && !isMainThread && inForce()) sabotage();
    return exec.call(this, sql);
  };
}

sabotages[process.env['SABOTAGE'] ?? '']?.();
