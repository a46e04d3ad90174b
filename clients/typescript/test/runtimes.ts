import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { openPage, withoutChromium } from '../../../test/browser/chromium.ts';
import type { Owner } from '../../../test/helpers/program.ts';

/** Options of `workload.js`. */
export interface WorkloadOptions {
  readonly url: string;
  readonly token: string;
  readonly count: number;
  readonly machine: number;
}

/** Something that runs JavaScript. */
export interface Runtime {
  /** Why it cannot run here. */
  readonly missing: string | undefined;
  /**
   * Runs the workload to its end.
   *
   * @param client path of the bundled client
   * @param onLine called with each line of the workload
   */
  run(
    owner: Owner,
    client: string,
    options: WorkloadOptions,
    onLine: (line: string) => void,
  ): Promise<void>;
}

const downloaded = (path: string) => join(import.meta.dirname, 'runtimes/node_modules', path);
const deno = ['run', '--quiet', '--no-lock', '--allow-net', '--allow-read', '--allow-write'];

export const runtimes = {
  here: processRuntime(process.execPath),
  node20: processRuntime(downloaded('node20/bin/node')),
  node22: processRuntime(downloaded('node22/bin/node')),
  node24: processRuntime(downloaded('node24/bin/node')),
  bun: processRuntime(downloaded('bun/bin/bun')),
  deno: processRuntime(downloaded('deno/deno'), deno),
  chromium: {
    missing: withoutChromium() || undefined,
    async run(owner, _, options, onLine) {
      // Faults of the network are errors on the console.
      const page = await openPage(owner, new URL(options.url).origin, { expected: /./ });
      await page.goto(options.url);
      await page.exposeFunction('writeLine', onLine);
      const { createThroughFaults } = await import('./workload.js');
      const code = `import('/client.js').then((client) => (${createThroughFaults})(client, ${JSON.stringify(options)}, writeLine))`;
      await page.evaluate(code);
    },
  },
} satisfies Record<string, Runtime>;

function processRuntime(file: string, args: readonly string[] = []): Runtime {
  return {
    missing: existsSync(file)
      ? undefined
      : 'it is not installed: npm ci --prefix clients/typescript/test/runtimes',
    async run(owner, client, options, onLine) {
      const program = join(import.meta.dirname, 'run-workload.js');
      const all = [...args, program, pathToFileURL(client).href, JSON.stringify(options)];
      const child = spawn(file, all, { stdio: ['ignore', 'pipe', 'inherit'] });
      owner.after(() => child.kill('SIGKILL'));
      const ended = once(child, 'close');
      for await (const line of createInterface(child.stdout)) onLine(line);
      assert.deepEqual(await ended, [0, null], `${file} has failed`);
    },
  };
}
