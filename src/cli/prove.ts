import { mkdtempSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { generateToken } from '../access/opaque-tokens.ts';
import type { Environment } from '../config/environment.ts';
import { type FileSystem, fileSystemOf, nearestExisting } from '../file-system.ts';
import { limits } from '../limits.ts';
import { percentile } from '../percentile.ts';
import { fdatasyncTimesMs } from '../prove/fdatasync.ts';
import type { Proof, ProofOptions } from '../prove/prove.ts';
import { ProofError } from '../prove/server.ts';
import { CommandError, command, type Terminal } from './command.ts';
import { sizeText } from './size-text.ts';

const program = fileURLToPath(new URL('../../bin/plant-store.js', import.meta.url));

import { sqliteOnly } from '../store/location.ts';

export const prove = command({
  name: 'prove',
  positionals: [],
  summary: 'Load a service of its own beside the store, kill it again and again, and see that no plant that was answered with 200 is lost.',
  flags: ['store', 'seconds', 'permission-model', 'json'],
  examples: ['plant-store prove', 'plant-store prove --seconds 3600 --store sqlite:/var/lib/plant-store/plants.db'],
  async run({ values }, terminal) {
    // All other commands would have to wait for the HTTP client that it needs.
    const { prove: proveOn } = await import('../prove/prove.ts');
    const interruption = new AbortController();
    // Before there is anything to be removed.
    void terminal.untilSignal().then((name) => interruption.abort(name));
    using scratch = scratchFolder(nearestExisting(dirname(sqliteOnly(values.store).path)));
    const disk = { fileSystem: fileSystemOf(scratch.path), syncs: fdatasyncTimesMs(join(scratch.path, 'fdatasync'), limits.proveSyncMs) };
    const token = generateToken();
    const options: ProofOptions = {
      command: [process.execPath, program, 'serve', '--permission-model', values['permission-model']],
      env: { ...withoutSettings(terminal.env), PLANT_STORE_TOKEN: token },
      folder: scratch.path,
      token,
      durationMs: values.seconds * 1_000,
      stop: interruption.signal,
      random: Math.random,
      report: progress(terminal, values.seconds),
    };
    const proof = await proveOn(options)
      .catch((error) => {
        if (!(error instanceof ProofError)) throw error;
        if (!interruption.signal.aborted) throw new CommandError(error.message, { cause: error });
      })
      .finally(() => terminal.showProgress(''));
    if (proof && values.json) terminal.print(JSON.stringify(proofRecord(disk, proof)));
    else if (proof) printForPeople(disk, proof, terminal);
    if (!interruption.signal.aborted) return proof && isProved(proof) ? 0 : 1;
    terminal.note(`plant-store: stopped by ${interruption.signal.reason} before its time; nothing is left behind`);
    return 1;
  },
});

/** A new folder in `folder`, with all that is in it removed at the end. */
function scratchFolder(folder: string): Disposable & { path: string } {
  const { bytes, freeBytes } = fileSystemOf(folder);
  if (bytes > 0 && freeBytes < limits.proveFreeBytesMin) {
    throw new CommandError(
      `${sizeText(freeBytes)} are free in ${folder}, and this needs ${sizeText(limits.proveFreeBytesMin)}; make room, or name a store elsewhere with --store`,
    );
  }
  try {
    const path = mkdtempSync(join(folder, 'plant-store-prove-'));
    return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) };
  } catch (cause) {
    throw new CommandError(
      `cannot make a folder in ${folder} (${(cause as Error).message}); run this as the user that the store belongs to, or name a store elsewhere with --store`,
      { cause },
    );
  }
}

/** The operator's settings are for his own service. */
function withoutSettings(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('PLANT_STORE_')));
}

function progress(terminal: Terminal, seconds: number): (soFar: Proof) => void {
  const startedMs = performance.now();
  return ({ kills, acknowledged, lost }) => {
    const passed = ((performance.now() - startedMs) / 1_000).toFixed(0);
    terminal.showProgress(`${passed} of ${seconds} s: ${kills} kills, ${acknowledged} plants acknowledged, ${lost} lost`);
  };
}

interface Disk {
  readonly fileSystem: FileSystem;
  readonly syncs: Float64Array;
}

function printForPeople(disk: Disk, proof: Proof, { print }: Terminal): void {
  const { fileSystem, fdatasyncP50Ms, fdatasyncP99Ms } = proofRecord(disk, proof);
  print(
    `disk      ${fileSystem ?? 'of an unknown type'}, fdatasync p50 ${fdatasyncP50Ms.toFixed(3)} ms, p99 ${fdatasyncP99Ms.toFixed(3)} ms`,
  );
  const doubt = doubtOf(disk.fileSystem, fdatasyncP50Ms);
  if (doubt !== undefined) print(`warning   ${doubt}`, 'warning');
  for (const line of proofLines(proof)) print(line);
  print(`verdict   ${verdict(proof)}`, isProved(proof) ? 'good' : 'bad');
  print('unproved  a killed process is no power cut: the kernel kept what it had written. Whether the drive keeps what it has synced');
  print('          shows only when its power is cut; the times of fdatasync above are all that this says about it.');
}

/** As `--json` prints it. */
function proofRecord({ fileSystem: { type }, syncs }: Disk, proof: Proof) {
  const [fdatasyncP50Ms, fdatasyncP99Ms] = [percentile(syncs, 0.5), percentile(syncs, 0.99)];
  return { proved: isProved(proof), fileSystem: type?.name, fdatasyncP50Ms, fdatasyncP99Ms, ...proof };
}

function doubtOf({ type }: FileSystem, syncP50Ms: number): string | undefined {
  if (type?.kind === 'memory') return `${type.name} is memory: nothing in it outlives a power cut, whatever a kill shows`;
  if (syncP50Ms >= limits.syncMsMin) return undefined;
  return 'no drive syncs so fast, unless its cache is protected against the loss of power: if yours is not, it or the hypervisor does not sync';
}

function proofLines({ kills, acknowledged, loadMs, restarts, restartMs, restartMsMax, lost, changed, extra }: Proof): string[] {
  const perSecond = (acknowledged / (loadMs / 1_000)).toFixed(0);
  const again = `ready again after ${(restartMs / restarts / 1_000).toFixed(2)} s on average, ${(restartMsMax / 1_000).toFixed(2)} s at most`;
  return [
    `load      ${acknowledged} plants acknowledged on ${limits.proveConnections} connections, ${perSecond} a second`,
    `kills     ${kills}${restarts > 0 ? `, ${again}` : ''}`,
    `plants    ${lost} lost, ${changed} changed, ${extra} extra`,
  ];
}

function verdict(proof: Proof): string {
  if (isProved(proof)) return 'passed: every plant that was answered with 200 is there as it was sent, and nothing else is';
  return 'FAILED: do not rely on the service on this machine; run "plant-store doctor", and report it';
}

function isProved({ lost, changed, extra }: Proof): boolean {
  return lost + changed + extra === 0;
}
