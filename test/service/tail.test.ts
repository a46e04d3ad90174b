import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { DatabaseSync } from 'node:sqlite';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { freePort } from '../helpers/free-port.ts';
import { pause } from '../helpers/pause.ts';
import {
  create,
  oneThread,
  programInShell,
  type RunningServer,
  startProgram,
  startServer,
  startServerOnNewStore,
  storePath,
  token,
} from '../helpers/program.ts';
import { connectRaw } from '../helpers/raw.ts';
import { runHere } from '../helpers/run-here.ts';
import { alterStore, makeStore } from '../helpers/store-file.ts';
import { storedToken } from '../helpers/stored-token.ts';
import { hasTerminal, startOnTerminal } from '../helpers/terminal.ts';

const store = await storePath({ after });
const app = await storedToken(store, 'my-app');
const server = await startServer({ after }, store, oneThread);
const there = flagsFor(server, store);

function flagsFor({ opsUrl }: RunningServer, path: string): string[] {
  return ['--store', `sqlite:${path}`, '--ops-port', new URL(opsUrl).port];
}

/** A create that is refused: the id has a fraction. @returns the request id */
async function refused(secret = token, { plantsUrl } = server, code = 40002): Promise<string> {
  const headers = { Authorization: `Bearer ${secret}` };
  const reply = await create(plantsUrl, { id: 1.5, name: 'Alder' }, headers);
  assert.equal(((await reply.json()) as { error: number }).error, code);
  return reply.headers.get('X-Request-Id') ?? assert.fail('no request id');
}

function sessionsIn(path: string): number {
  using db = new DatabaseSync(path, { readOnly: true });
  return Number(db.prepare('SELECT count(*) AS n FROM sessions').get()?.['n']);
}

/** Runs `tail` in this process, until `stop` sends it a SIGINT. */
function startTail(
  args: readonly string[],
  slowly: () => Promise<unknown> | undefined = () => undefined,
) {
  const printed: string[] = [];
  const notes: string[] = [];
  const interrupted = Promise.withResolvers<string>();
  let changed = Promise.withResolvers<void>();
  let endedBy: string | undefined;
  const add = (list: string[]) => (line: string) => {
    list.push(line);
    changed.resolve();
    changed = Promise.withResolvers();
    return slowly();
  };
  const ended = runHere(
    ['tail', ...args],
    {},
    {
      print: add(printed),
      note: add(notes),
      untilSignal: () => interrupted.promise,
      endBy: (signal) => {
        endedBy = signal;
      },
    },
  );
  return {
    printed,
    notes,
    async until(isSo: () => boolean): Promise<void> {
      const signal = AbortSignal.timeout(60_000);
      const late = new Promise<never>((_, reject) =>
        signal.addEventListener('abort', () =>
          reject(new Error(JSON.stringify({ printed, notes }))),
        ),
      );
      while (!isSo()) await Promise.race([changed.promise, late, ended]);
    },
    async stop() {
      interrupted.resolve('SIGINT');
      await ended;
      assert.equal(endedBy, 'SIGINT');
    },
  };
}

test('tail shows the last refusals and then each new one, counts them at Ctrl-C, and signs out', async () => {
  const before = sessionsIn(store);
  const [first, second] = [await refused(), await refused(app)];
  const child = startProgram(['tail', ...there]);
  const notes = text(child.stderr);
  let printed = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (printed += chunk));
  while (!printed.includes(second)) await once(child.stdout, 'data');
  const third = await refused();
  while (!printed.includes(third)) await once(child.stdout, 'data');
  child.kill('SIGINT');
  await once(child, 'exit');

  assert.equal(child.signalCode, 'SIGINT');
  assert.match(await notes, /^3 requests since 20\d\d-[0-9T:.-]+Z\n$/);
  const says = '`id` must be an integer from -9223372036854775808 to 9223372036854775807.';
  const lines = printed.trimEnd().split('\n');
  for (const [index, id] of [first, second, third].entries()) {
    const [at = '', code, name, client, requestId, ...rest] = (lines[index] ?? '').split(/ {2,}/);
    assert.equal(new Date(at).toISOString(), at);
    const sender = id === second ? 'my-app' : 'environment';
    assert.deepEqual([code, name, client, requestId], ['40002', sender, '127.0.0.1', id]);
    assert.equal(rest.join(' '), says);
  }
  assert.equal(sessionsIn(store), before);
});

test('tail ends at once when the reader of its pipe does, without an error, and signs out', async () => {
  const before = sessionsIn(store);
  await refused();
  const line = `${programInShell} tail "$@" | head -1; echo "\${PIPESTATUS[@]}"`;
  const shell = spawn('bash', ['-c', line, 'bash', ...there], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const [printed, errors] = [text(shell.stdout), text(shell.stderr)];
  let isOver = false;
  const exit = once(shell, 'exit').then(() => (isOver = true));
  // `tail` meets the closed end with the next record.
  while (!isOver) {
    await refused();
    await Promise.race([exit, pause()]);
  }
  assert.match(await printed, /^20.*\n0 0\n$/);
  assert.equal(await errors, '');
  assert.equal(sessionsIn(store), before);
});

test('tail shows one token, one code and accepted creates, as JSON without empty members', async () => {
  const tail = startTail(['--token', 'my-app', '--creates', '--json', ...there]);
  const ids: string[] = [];
  const isShown = () => tail.printed.some((line) => ids.some((id) => line.includes(id)));
  const accept = async () => {
    await refused();
    const reply = await create(
      server.plantsUrl,
      { id: 1, name: 'Alder' },
      { Authorization: `Bearer ${app}` },
    );
    ids.push(reply.headers.get('X-Request-Id') ?? '');
  };
  // One create a second is in the sample.
  const sending = setInterval(() => void accept(), 50);
  await tail.until(isShown).finally(() => clearInterval(sending));
  await tail.stop();
  const records = tail.printed.map((line) => JSON.parse(line));
  assert(records.every((record) => record.token === 'my-app'));
  const { at, requestId, client, ...rest } = records.at(-1);
  assert.deepEqual(rest, {
    token: 'my-app',
    method: 'POST',
    path: '/plants',
    status: 200,
    outcome: rest.outcome,
    message: rest.message,
  });

  const ofOther = startTail(['--code', '40004', ...there]);
  const id = await refused();
  await create(server.plantsUrl, { id: 1, name: 'Oak' });
  await ofOther.until(() => ofOther.printed.some((line) => line.includes('40004')));
  await ofOther.stop();
  assert(!ofOther.printed.some((line) => line.includes(id)));
});

test('tail --no-token shows only requests without a valid token', async () => {
  const known = await refused();
  const { plantsUrl } = server;
  const headers = { Authorization: 'Bearer ps_unknown' };
  const reply = await create(plantsUrl, { id: 1, name: 'Alder' }, headers);
  const id = reply.headers.get('X-Request-Id') ?? '';
  const tail = startTail(['--no-token', '--last', '1000', ...there]);
  await tail.until(() => tail.printed.some((line) => line.includes(id)));
  await tail.stop();
  assert(!tail.printed.some((line) => line.includes(known)));
  for (const other of [['--token', 'my-app'], ['--creates']]) {
    const { code, stderr } = await runHere(['tail', '--no-token', ...other, ...there]);
    assert.equal(code, 2);
    assert.match(stderr, /--no-token goes with neither --token nor --creates/);
  }
});

test('tail --no-follow prints what the service remembers and ends, and --last 0 shows only what is new', async (t) => {
  const own = await startServerOnNewStore(t, ...oneThread);
  const args = flagsFor(own, own.store);
  const none = await runHere(['tail', '--no-follow', ...args]);
  assert.deepEqual(none, {
    code: 0,
    stdout: '',
    stderr: 'The service remembers no such request.\n',
  });
  const ids = [await refused(token, own), await refused(token, own), await refused(token, own)];
  const shown = async (last: string) => {
    const { code, stdout, stderr } = await runHere([
      'tail',
      '--no-follow',
      '--last',
      last,
      '--json',
      ...args,
    ]);
    assert.deepEqual([code, stderr], [0, '']);
    return stdout.split('\n').flatMap((line) => (line ? JSON.parse(line).requestId : []));
  };
  assert.deepEqual(await shown('1000'), ids);
  assert.deepEqual(await shown('2'), ids.slice(1));
  assert.deepEqual(await shown('0'), []);

  const tail = startTail(['--last', '0', ...args]);
  const isNew = () => tail.printed.length > 0;
  const sending = setInterval(async () => ids.push(await refused(token, own)), 50);
  await tail.until(isNew).finally(() => clearInterval(sending));
  await tail.stop();
  assert(!ids.slice(0, 3).some((id) => tail.printed.join().includes(id)));
  await own.stop();
  const away = await runHere(['tail', '--no-follow', ...args]);
  assert.equal(away.code, 1);
  assert.match(away.stderr, /^plant-store: no service answers/);
});

test('tail says once that the service is away, and goes on when it is back', async (t) => {
  const path = await storePath(t);
  const port = await freePort();
  const args = [...oneThread, '--ops-port', `${port}`];
  const first = await startServer(t, path, args);
  const tail = startTail(flagsFor(first, path));
  const before = await refused(token, first);
  await tail.until(() => tail.printed.some((line) => line.includes(before)));
  await first.stop();
  await tail.until(() => tail.notes.length > 0);
  const second = await startServer(t, path, args);
  const later = await refused(token, second);
  await tail.until(() => tail.printed.some((line) => line.includes(later)));
  await tail.stop();
  assert.equal(tail.notes.length, 3);
  const [away = '', back = '', total = ''] = tail.notes;
  assert.match(away, /^no service answers at 127\.0\.0\.1 port \d+ \(.*\)\. Trying again\.$/);
  assert.match(
    back,
    /^The service answers again\. Requests just before its silence may be missing\.$/,
  );
  assert.match(total, /^2 requests since /);
});

test('tail tells the cause of a failure, which the client did not get', async (t) => {
  const own = await startServerOnNewStore(t, ...oneThread);
  alterStore(
    own.store,
    "CREATE TRIGGER wrong BEFORE INSERT ON plants BEGIN SELECT RAISE(ABORT, 'wrong'); END",
  );
  const reply = await create(own.plantsUrl, { id: 1, name: 'Alder' });
  assert.equal(reply.status, 500);
  const { message } = (await reply.json()) as { message: string };
  const cause = 'a defect of the service; the log has the defect under the request id';
  assert(!message.includes(cause));
  const tail = startTail(flagsFor(own, own.store));
  await tail.until(() => tail.printed.length === 1);
  await tail.stop();
  const [line = ''] = tail.printed;
  assert(line.endsWith(`${message} Cause: ${cause}`), line);
});

test('tail tells how many requests it could not show', async (t) => {
  const busy = await startServerOnNewStore(t, ...oneThread);
  const released = Promise.withResolvers<void>();
  const tail = startTail(flagsFor(busy, busy.store), () => released.promise);
  await refused(token, busy);
  await tail.until(() => tail.printed.length === 1);
  const many = 2_000;
  const connection = await connectRaw(t, busy.port);
  connection.send('GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(many));
  for (let replies = 0; replies < many; replies++) await connection.reply();
  released.resolve();
  await tail.until(() => tail.notes.length > 0);
  await tail.stop();
  assert.equal(tail.notes[0], 'Not shown: up to 1,000 requests, which came too fast.');
});

test('on a narrow terminal, tail cuts nothing: the message goes on in indented lines', async (t) => {
  if (!hasTerminal(t)) return;
  const colours = { NO_COLOR: '1' };
  const child = startOnTerminal(60, ['tail', '--token', 'my-app', ...there], colours);
  t.after(() => child.kill('SIGKILL'));
  const stdout = child.stdout ?? assert.fail('no output');
  const id = await refused(app);
  let shown = '';
  stdout.setEncoding('utf8').on('data', (chunk: string) => (shown += chunk));
  const isWhole = () => shown.slice(shown.lastIndexOf(id)).includes('9223372036854775807.');
  while (!shown.includes(id) || !isWhole()) await once(stdout, 'data');
  const lines = shown.split(/\r?\n/);
  assert.match(lines[0] ?? '', /^Following http:\/\/127\.0\.0\.1:\d+\/; Ctrl-C ends\.$/);
  assert.match(lines[1] ?? '', /^20\d\d-\d\d-\d\d \(times in UTC\)$/);
  assert(
    lines.every((line) => line.length <= 60),
    shown,
  );
  const at = lines.findIndex((line) => line.includes(id));
  const message = lines.slice(at + 1).filter((line) => line.startsWith('    '));
  assert.equal(
    message
      .slice(0, 2)
      .map((line) => line.trim())
      .join(' '),
    '`id` must be an integer from -9223372036854775808 to 9223372036854775807.',
  );
});

test('tail suggests the name that was meant, and never repeats a token', async () => {
  const refusalOf = async (...args: string[]) =>
    (await runHere(['tail', ...args, ...there])).stderr;
  assert.match(
    await refusalOf('--token', 'my-ap'),
    /has never had a token named my-ap; did you mean my-app\?\n$/,
  );
  const secret = await refusalOf('--token', app);
  assert.equal(
    secret,
    'plant-store: --token takes the name of a token, and never the token itself\n',
  );
  assert.match(
    await refusalOf('--code', '4'),
    /^plant-store: --code must be an error code for clients/,
  );
});

test('the fixed token in the environment is not taken for the name of a token', async () => {
  const found = await runHere(['tail', '--ops-port', 'off'], { PLANT_STORE_TOKEN: token });
  assert.match(found.stderr, /^plant-store: --ops-port off leaves no port/);
  assert(!found.stderr.includes(token));
});

test('tail and explain say so if the service has another store', async (t) => {
  const other = await storePath(t);
  makeStore(other);
  const args = ['--store', `sqlite:${other}`, ...there.slice(2)];
  for (const command of [['tail'], ['explain', '000000000000-1']]) {
    const { code, stderr } = await runHere([...command, ...args]);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /the service has another store, .* --store, or its port with --ops-port\n$/,
    );
    assert(stderr.includes(other));
  }
});

test('explain tells what is known of a request, and what its code means', async () => {
  const id = await refused(app);
  const { code, stdout, stderr } = await runHere(['explain', id, ...there]);
  const others = `"plant-store tail --token my-app --code 40002 --store sqlite:${store}"`;
  assert.deepEqual([code, stderr], [0, `${others} shows the newest such refusals of my-app.\n`]);
  assert.match(stdout, /^token +my-app$/m);
  assert.match(stdout, /^code +40002$/m);
  assert.match(stdout, /^remedy +Choose an integer from /m);
  const inJson = JSON.parse((await runHere(['explain', id, '--json', ...there])).stdout);
  assert.deepEqual([inJson.requestId, inJson.code, inJson.token], [id, 40002, 'my-app']);
  assert.match(inJson.meaning, /^`id` is not an int64/);
});

test('explain says that a known secret has ended', async () => {
  const secret = await storedToken(store, 'old-app', { validMs: 1 });
  const id = await refused(secret, server, 40101);
  const { code, stderr } = await runHere(['explain', id, ...there]);
  assert.equal(code, 0);
  assert.match(
    stderr,
    /^The service knows the secret: the token old-app was revoked, or has expired\.\n"plant-store tail --token old-app --code 40101 /,
  );
});

test('explain says where else to look if nothing is known of a request, or no service answers', async () => {
  const id = '000000000000-1';
  const unknown = await runHere(['explain', id, ...there]);
  assert.equal(unknown.code, 1);
  assert.match(
    unknown.stderr,
    /remembers no request with this id.*Search the log of the service for the id/,
  );
  const port = `${await freePort()}`;
  const away = await runHere(['explain', id, '--store', `sqlite:${store}`, '--ops-port', port]);
  assert.match(
    away.stderr,
    /no service answers at .*Search the log of the service for 000000000000-1/,
  );
  const wrong = await runHere(['explain', 'x', ...there]);
  assert.deepEqual([wrong.code, wrong.stdout], [2, '']);
});

test('explain explains a code without a service, for clients and for operators', async () => {
  const { code, stdout } = await runHere(['explain', '40004']);
  assert.equal(code, 0);
  assert.match(stdout, /^meaning +`id` belongs to a different plant\.$/m);
  const both = (await runHere(['explain', '40000', '--json'])).stdout.trim().split('\n');
  assert.deepEqual(
    both.map((line) => JSON.parse(line).sentTo),
    ['clients', 'operators'],
  );
  assert.equal((await runHere(['explain', '40999'])).code, 2);
  const { stdout: merged } = await runHere(['explain', '40000']);
  assert.match(merged, /^for clients +Send .*\nfor operators +Send .*\n$/m);
  assert.equal(merged.match(/^code /gm)?.length, 1);
});

test('explain lists the codes of an HTTP status, and explains the only one', async () => {
  const { code, stdout, stderr } = await runHere(['explain', '409']);
  assert.equal(code, 0);
  assert.match(
    stdout,
    /^CODE +SENT TO +MEANING\n40900 +operators +There is a token with this name/,
  );
  assert.match(stderr, /^"plant-store explain CODE" tells/);
  const ofInput = (await runHere(['explain', '400'])).stdout;
  assert.deepEqual(ofInput.match(/^40000 .*/gm)?.length, 1);
  assert.match(ofInput, /^40000 +clients, operators /m);
  const inJson = (await runHere(['explain', '429', '--json'])).stdout.trim().split('\n');
  const facts = inJson.map((line) => JSON.parse(line));
  assert(facts.every(({ status, remedy }) => status === 429 && remedy !== undefined));
  assert.deepEqual([facts[0].code, facts[0].sentTo], [42900, 'clients']);
  assert.match((await runHere(['explain', '415'])).stdout, /^remedy +Send `Content-Type/m);
});

test('explain takes the line of a reply, and says so of an id that was not given yet', async () => {
  const id = await refused(app);
  for (const line of [`X-Request-Id: ${id}`, `< x-request-id: ${id}\r`])
    assert.match((await runHere(['explain', line, ...there])).stdout, new RegExp(` ${id}$`, 'm'));
  const { code, stderr } = await runHere(['explain', `${id.split('-')[0]}-zzzzzz`, ...there]);
  assert.deepEqual(
    [code, stderr],
    [1, 'plant-store: The service has not given this id to a request. Check the id.\n'],
  );
});
