import fs, { existsSync, readlinkSync } from 'node:fs';
import { registerHooks, syncBuiltinESMExports } from 'node:module';
import { Server } from 'node:net';
import { dirname } from 'node:path';
import { DatabaseSync, StatementSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { isMainThread, threadId, workerData } from 'node:worker_threads';

/*
 * Loaded into the threads of a server before its own code (node --import), to bring about what
 * cannot be had from outside. SABOTAGE names what, and it is in force as long as there is a file at
 * SABOTAGE_WHILE. CHANGED_LIMITS are in force for as long as the process lives.
 */

const ownLimits = new URL('../../src/limits.ts', import.meta.url).href;
const changedLimits = new URL('changed-limits.ts', import.meta.url).href;
const yearMs = 365 * 86_400_000;
const inForce = () => existsSync(process.env['SABOTAGE_WHILE'] ?? '');

const sabotages: Readonly<Record<string, () => void>> = {
  'disk hangs': hangDisk,
  'disk hangs for good': hangDisk,
  'sync fails': () =>
    beforeSync(() => {
      if (inForce()) throw Object.assign(new Error('EIO by the test'), { code: 'EIO' });
    }),
  'folder is shut after a sync': () => {
    let isShut = false;
    beforeSync(() => (isShut = inForce()));
    fs.statSync = new Proxy(fs.statSync, {
      apply(stat, self, args) {
        if (isShut && inForce() && args[1]?.bigint) throw new Error('EACCES by the test');
        return Reflect.apply(stat, self, args);
      },
    });
    syncBuiltinESMExports();
  },
  'sync of the store hangs': () =>
    beforeSync(async (descriptor) => {
      while (inForce() && isStore(descriptor)) await delay(5);
    }),
  'copy of the files hangs': () => onRead(hang),
  'copy of the files takes long': () => onRead(() => (performance.now = () => Infinity)),
  'thread for checkpoints ends': () => onExec(afterCheckpoint, () => process.exit()),
  'thread for checkpoints throws': () =>
    onExec(afterCheckpoint, () => {
      throw new Error('thrown by the test');
    }),
  'index is removed during a checkpoint': () =>
    beforeSync((descriptor) => {
      const index = `${dirname(process.env['SABOTAGE_WHILE'] ?? '')}/plants.db-shm`;
      if (inForce() && isStore(descriptor)) fs.rmSync(index, { force: true });
    }),
  'thread of the store begins late': () => workerData?.files && hang(),
  'HTTP thread hangs': () => onOneHttpThread(hang),
  'HTTP thread ends': () => onOneHttpThread(() => process.exit()),
  'HTTP thread ends with the lock': () => {
    if (threadId % 2 === 1) onExec('COMMIT', () => process.exit());
  },
  'store is locked for threads': () => {
    if (isMainThread) return;
    StatementSync.prototype.all = () => {
      throw Object.assign(new Error('locked'), { code: 'ERR_SQLITE_ERROR', errcode: 5 });
    };
  },
  'memory is told': () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc');
    const file = `${process.env['SABOTAGE_WHILE']}-of-${threadId}`;
    setInterval(() => {
      if (existsSync(file) || !inForce()) return;
      collectGarbage();
      // Frees what the first has found.
      collectGarbage();
      const { heapUsed, external } = process.memoryUsage();
      // Whole as soon as it is there.
      fs.writeFileSync(`${file}-made`, `${heapUsed + external}`);
      fs.renameSync(`${file}-made`, file);
    }, 5).unref();
  },
  'clock is a year back': () => {
    const now = Date.now;
    Date.now = () => now() - (inForce() ? yearMs : 0);
  },
};

/** The program loads `changed-limits.ts` in the place of its own limits. */
function changeLimits(): void {
  registerHooks({
    resolve(specifier, context, nextResolve) {
      const resolved = nextResolve(specifier, context);
      const isChanged = resolved.url === ownLimits && context.parentURL !== changedLimits;
      return isChanged ? { ...resolved, url: changedLimits } : resolved;
    },
  });
}

function hang(): void {
  while (inForce()) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
}

/** As in a call that does not return: later calls wait, too. */
function hangDisk(): void {
  beforeSync(async () => {
    while (inForce()) await delay(5);
  });
}

function isStore(descriptor: number): boolean {
  return readlinkSync(`/proc/self/fd/${descriptor}`).endsWith('.db');
}

/** Before each sync that the service makes. It fails if the sabotage throws. */
function beforeSync(sabotage: (descriptor: number) => unknown): void {
  const { fdatasync } = fs;
  fs.fdatasync = Object.assign(
    (...[descriptor, done]: Parameters<typeof fdatasync>) => {
      const sync = () => fdatasync(descriptor, done);
      void Promise.resolve(descriptor).then(sabotage).then(sync, done);
    },
    { __promisify__: fdatasync.__promisify__ },
  );
  syncBuiltinESMExports();
}

/** Of two: beside the main thread only they listen, and one of them has an odd number. */
function onOneHttpThread(sabotage: () => void): void {
  if (isMainThread || threadId % 2 === 0) return;
  Server.prototype.listen = new Proxy(Server.prototype.listen, {
    apply(listen, server, args) {
      setInterval(() => inForce() && sabotage(), 5).unref();
      return Reflect.apply(listen, server, args);
    },
  });
}

function onRead(sabotage: () => void): void {
  const { readSync } = fs;
  fs.readSync = (...args: unknown[]) => {
    if (inForce()) sabotage();
    return Reflect.apply(readSync, fs, args);
  };
  syncBuiltinESMExports();
}

/** SQL that the thread for checkpoints runs under the lock. */
const afterCheckpoint = 'PRAGMA journal_size_limit';

function onExec(start: string, sabotage: () => void): void {
  const { exec } = DatabaseSync.prototype;
  DatabaseSync.prototype.exec = function (sql) {
    if (sql.startsWith(start) && inForce()) sabotage();
    return exec.call(this, sql);
  };
}

changeLimits();
sabotages[process.env['SABOTAGE'] ?? '']?.();
