/**
 * `npm run clients -- [NAME...] [--write]`: makes a client of docs/openapi.json with each generator,
 * compiles the client, and runs the program that uses the client against a service of its own. A
 * tool that the machine lacks is reported, and is no failure. With `--write` the table goes into
 * docs/results/clients.md.
 */
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { startServerOnNewStore, token } from '../../test/helpers/program.ts';
import { storedPlants } from '../../test/helpers/store-file.ts';
import { type Client, clients } from './clients.ts';

const root = join(import.meta.dirname, '../..');
const cache = join(root, '.cache/clients');
const page = join(root, 'docs/results/clients.md');
const [begin, end] = ['<!-- results: npm run clients -- --write -->', '<!-- end of results -->'];
const stepMs = 15 * 60_000;
const largestId = 2n ** 63n - 1n;
const conflict = `ID_TAKEN The id ${largestId} belongs to a plant with another name or tag.`;

/** What a client was seen to do: yes, no, or empty if it was not tried. */
interface Seen {
  generated?: boolean;
  compiled?: boolean;
  stored?: boolean;
  compared?: boolean;
  refused?: boolean;
  note: string;
}

const { values, positionals } = parseArgs({
  options: { write: { type: 'boolean', default: false } },
  allowPositionals: true,
});
if (values.write && positionals.length > 0) throw new Error('--write needs all clients');
const unknown = positionals.filter((name) => !clients.some((client) => client.name === name));
if (unknown.length > 0) throw new Error(`there is no client ${unknown.join(' or ')}`);
const chosen = clients.filter(({ name }) => positionals.length === 0 || positionals.includes(name));
const rows: string[] = [];
for (const client of chosen) {
  const seen = await tryClient(client);
  rows.push(row(client, seen));
  console.log(rows.at(-1));
  const { generated, compiled, stored, refused } = seen;
  // Not every generator gives header fields.
  if ([generated, compiled, stored, refused].includes(false)) process.exitCode = 1;
}
console.log(`\n${table()}`);
if (values.write) writeFileSync(page, withTable(readFileSync(page, 'utf8')));

async function tryClient(client: Client): Promise<Seen> {
  const { name, folder, runtime, compiler, run, note } = client;
  if (!isHere(runtime)) return { note: `Not tried: this machine has no \`${runtime}\`.` };
  const at = join(cache, name);
  prepare(at, folder);
  const step = (kind: 'setUp' | 'generate' | 'compile') => bash(at, client[kind]);

  const generated = step('setUp').isDone && step('generate').isDone;
  if (!generated) return { generated, note: lastLogIn(at) };
  if (!isHere(compiler))
    return { generated, note: `Not compiled: this machine has no \`${compiler}\`.` };
  const compiled = step('compile').isDone;
  if (!compiled) return { generated, compiled, note: lastLogIn(at) };
  return { generated, compiled, ...(await runProgram(at, run)), note };
}

/** Runs the program against a service with an empty store. */
async function runProgram(at: string, command: string) {
  await using cleanups = new AsyncDisposableStack();
  const after = (cleanup: () => unknown) =>
    cleanups.defer(async () => {
      await cleanup();
    });
  const { plantsUrl, store } = await startServerOnNewStore({ after });
  const URL = dirname(plantsUrl);
  const { printed } = bash(at, command, { URL, TOKEN: token });
  const [id, name] = storedPlants(store)[0] ?? [];
  return {
    stored: id === largestId && name === 'Oak',
    compared: printed.includes(`Plant-Id ${largestId}`),
    refused: printed.includes(conflict),
  };
}

/** The program of the client and the description, in an empty folder. */
function prepare(at: string, folder: string): void {
  rmSync(at, { recursive: true, force: true });
  mkdirSync(at, { recursive: true });
  if (folder !== '') cpSync(join(import.meta.dirname, folder), at, { recursive: true });
  copyFileSync(join(root, 'docs/openapi.json'), join(at, 'openapi.json'));
}

function bash(cwd: string, command: string, variables: NodeJS.ProcessEnv = {}) {
  // Programs in Python have an environment of their own.
  const path = `${join(cwd, '.venv/bin')}:${process.env['PATH']}`;
  const env = { ...process.env, PATH: path, ...variables };
  const { status, stdout, stderr } = spawnSync('bash', ['-euc', command], {
    cwd,
    env,
    encoding: 'utf8',
    timeout: stepMs,
    maxBuffer: 2 ** 28,
  });
  writeFileSync(logIn(cwd), `$ ${command}\n${stdout}${stderr}\n`);
  return { isDone: status === 0, printed: stdout };
}

function logIn(at: string): string {
  return join(at, 'last-step.log');
}

function lastLogIn(at: string): string {
  return `See ${relative(root, logIn(at))}.`;
}

function isHere(program: string): boolean {
  return spawnSync('which', [program]).status === 0;
}

function table(): string {
  const head = [
    'generator',
    'version',
    'language',
    'generated',
    'compiled',
    '2^63-1 is stored exactly',
    '`Plant-Id` is read',
    'code and message of a 400 are read',
    'note',
  ];
  return [`| ${head.join(' | ')} |`, `|${' --- |'.repeat(head.length)}`, ...rows].join('\n');
}

function row({ generator, version, language }: Client, seen: Seen): string {
  const { generated, compiled, stored, compared, refused, note } = seen;
  const answers = [generated, compiled, stored, compared, refused].map(answer);
  return `| ${[generator, version, language, ...answers, note].join(' | ')} |`;
}

function answer(is: boolean | undefined): string {
  if (is === undefined) return '';
  return is ? 'yes' : 'no';
}

function withTable(text: string): string {
  const [before] = text.split(begin);
  const [, after] = text.split(end);
  return `${before}${begin}\n\n${table()}\n\n${end}${after}`;
}
