import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openPage, withoutChromium } from '../../../test/browser/chromium.ts';
import type { Owner } from '../../../test/helpers/program.ts';

/** What `createThroughFaults` of `workload.js` takes. */
export interface WorkloadOptions {
  /** Where the creates go, and where `client.js` and `workload.js` are. */
  readonly url: string;
  readonly token: string;
  readonly count: number;
}

/** Something that runs JavaScript. */
export interface Runtime {
  /** Why it cannot run here. */
  readonly missing: string | undefined;
  /** Runs the workload to its end. The folder has `client.js` and `workload.js`. */
  run(owner: Owner, folder: string, options: WorkloadOptions, onLine: OnLine): Promise<void>;
}

/** Called with each line of the workload. */
type OnLine = (line: string) => void;

const downloaded = (path: string) => join(import.meta.dirname, 'runtimes/node_modules', path);
const node = ['--input-type=module', '--eval'];

export const runtimes: Readonly<Record<string, Runtime>> = {
  here: processRuntime(process.execPath, node),
  node20: processRuntime(downloaded('node20/bin/node'), node),
  node24: processRuntime(downloaded('node24/bin/node'), node),
  bun: processRuntime(downloaded('bun/bin/bun'), ['--eval']),
  deno: processRuntime(downloaded('deno/deno'), ['eval', '--quiet', '--no-lock']),
  chromium: {
    missing: withoutChromium() || undefined,
    async run(owner, _, options, onLine) {
      // Faults of the network are errors on the console.
      const page = await openPage(owner, new URL(options.url).origin, { expected: /./ });
      await page.goto(options.url);
      await page.exposeFunction('writeLine', onLine);
      await page.evaluate(program('/', options, 'writeLine'));
    },
  },
};

/** The same for every runtime. @param write a function in JavaScript that takes a line */
function program(folder: string, options: WorkloadOptions, write: string): string {
  return `(async () => {
    const { createThroughFaults } = await import('${folder}workload.js');
    await createThroughFaults(await import('${folder}client.js'), ${JSON.stringify(options)}, ${write});
  })()`;
}

function processRuntime(file: string, args: readonly string[]): Runtime {
  return {
    missing: existsSync(file)
      ? undefined
      : 'it is not installed: npm install --prefix clients/typescript/test/runtimes',
    async run(owner, folder, options, onLine) {
      const write = '(line) => new Promise((done) => process.stdout.write(line + "\\n", done))';
      const text = program(`file://${folder}/`, options, write);
      const child = spawn(file, [...args, text], { stdio: ['ignore', 'pipe', 'inherit'] });
      owner.after(() => child.kill('SIGKILL'));
      const ended = once(child, 'close');
      for await (const line of createInterface(child.stdout)) onLine(line);
      assert.deepEqual(await ended, [0, null], `${file} has failed`);
    },
  };
}
