#!/usr/bin/env node
// Plain JavaScript, because the machine's Node may be too old for the TypeScript in src. The
// dependencies include a Node that is not.
import nodeModule from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const oldestNode = 26;
/** Else the answers to operators let the young generation of the main thread grow to 32 MB. */
const nodeFlags = ['--max-semi-space-size=2'];
/** Exit code of the loader of Linux. Its own message names the library. */
const lacksLibrary = 127;
const root = fileURLToPath(new URL('..', import.meta.url));
/** Tells the program, which removes it at once, by which process it was started. */
const launcherVariable = 'PLANT_STORE_LAUNCHER';
const parentCheckMs = 500;

endWithParent();
if (Number.parseInt(process.versions.node, 10) >= oldestNode) {
  // Keeping compiled code, also for the worker threads, saves half of the start and 40 MB.
  process.env.NODE_COMPILE_CACHE ??= join(root, 'node_modules/.cache/plant-store');
  nodeModule.enableCompileCache();
  await import('../src/main.ts');
} else {
  const { spawn } = await import('node:child_process');
  const child = spawn(ownNode(), [...nodeFlags, ...process.argv.slice(1)], {
    stdio: 'inherit',
    env: { ...process.env, [launcherVariable]: `${process.pid}` },
  });
  // A terminal or a supervisor may signal both processes. The program counts such signals once.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP', 'SIGUSR1', 'SIGUSR2'])
    process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(error.message));
  child.on('close', (code, signal) => {
    if (code === lacksLibrary)
      fail('see above', 'on Debian and Ubuntu, run apt-get install libatomic1 libstdc++6');
    if (signal === null) process.exit(code);
    // Ends by the same signal, so that a shell sees 130 after Ctrl-C.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

/**
 * Neither npm nor the launcher can hand on a SIGKILL: the program would stay, and keep its port. npm
 * is the parent of a script that replaces the shell.
 */
function endWithParent() {
  const { [launcherVariable]: launcher, npm_lifecycle_script: script } = process.env;
  delete process.env[launcherVariable];
  if (launcher === undefined && !script?.startsWith('exec ')) return;
  const parent = Number(launcher ?? process.ppid);
  const check = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(check);
    process.kill(process.pid, 'SIGTERM');
  }, parentCheckMs).unref();
}

/** npm may have put the package beside the program, or into a folder above. */
function ownNode() {
  const isWindows = process.platform === 'win32';
  const target = `${isWindows ? 'win' : process.platform}-${process.arch}`;
  const require = nodeModule.createRequire(import.meta.url);
  for (const name of [`node-${target}`, `node-bin-${target}`]) {
    try {
      const folder = dirname(require.resolve(`${name}/package.json`));
      return join(folder, 'bin', isWindows ? 'node.exe' : 'node');
    } catch (error) {
      if (error.code !== 'MODULE_NOT_FOUND') throw error;
    }
  }
  return fail(`the npm package node-${target} is not installed`);
}

function fail(reason, remedy = `run npm ci, or use Node ${oldestNode} or later`) {
  console.error(`plant-store: cannot run Node ${oldestNode} (${reason}); ${remedy}`);
  process.exit(1);
}
