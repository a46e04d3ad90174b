import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Problem, type ProblemName, problems } from '../../src/contract/problems.ts';
import { type Owner, token } from './program.ts';

/** A reply as it came over the wire. */
export interface RawReply {
  readonly status: number;
  /** By name in lower case; of a name that comes twice, the values joined with ", ". */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

/**
 * A connection on which a test may send anything. Every wait gives up with an error that shows what
 * has been received.
 */
export interface RawConnection {
  readonly socket: Socket;
  send(...parts: (string | Uint8Array)[]): void;
  /**
   * Sends each part in a packet of its own, as far as that can be had of TCP, and stops when the
   * server has closed.
   */
  sendApart(parts: readonly Uint8Array[]): Promise<void>;
  /**
   * The next reply, also a 1xx. The reply to a HEAD has no body, whatever its Content-Length says.
   */
  reply(to?: 'HEAD'): Promise<RawReply>;
  /**
   * Resolves with what came after the last reply when the server has closed; rejects if it has
   * reset the connection.
   */
  closed(): Promise<string>;
}

const waitMs = 60_000;

/** Connects to the server. The connection is destroyed when the test ends. */
export async function connectRaw(
  owner: Owner,
  port: number,
  localAddress = '127.0.0.1',
): Promise<RawConnection> {
  const host = '127.0.0.1';
  const socket = connect({ port, host, localAddress, allowHalfOpen: true, noDelay: true });
  owner.after(() => socket.destroy());
  await once(socket, 'connect');

  let received = Buffer.alloc(0);
  let ended = false;
  let error: Error | undefined;
  const events = new EventEmitter();
  const change = (apply: () => void) => {
    apply();
    events.emit('change');
  };
  socket.on('data', (chunk: Buffer) => change(() => (received = Buffer.concat([received, chunk]))));
  socket.on('end', () => change(() => (ended = true)));
  // EPIPE says that the server had closed in order before the test sent more.
  socket.on('error', (cause: NodeJS.ErrnoException) =>
    change(() => (cause.code === 'EPIPE' ? (ended = true) : (error = cause))),
  );
  socket.on('close', () => change(() => (ended = true)));

  async function until<T>(what: string, find: () => T | undefined): Promise<T> {
    const signal = AbortSignal.timeout(waitMs);
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      const end = ended ? 'the server has closed' : undefined;
      const why = error?.message ?? end ?? (signal.aborted ? 'nothing came' : undefined);
      if (why !== undefined)
        throw new Error(
          `${why} while waiting for ${what}; received: ${JSON.stringify(`${received}`)}`,
        );
      // The next turn sees the signal.
      await once(events, 'change', { signal }).catch(() => undefined);
    }
  }

  return {
    socket,
    send: (...parts) =>
      void socket.write(Buffer.concat(parts.map((part) => Buffer.from(part as string)))),
    async sendApart(parts) {
      for (const part of parts) {
        if (ended || error) return;
        socket.write(part);
        await new Promise(setImmediate);
      }
    },
    reply: (to) =>
      until('a reply', () => {
        const [reply, bytes] = parseReply(received, to) ?? [];
        received = received.subarray(bytes ?? 0);
        return reply;
      }),
    async closed() {
      await until('the end', () => (ended && !error ? true : undefined));
      return received.toString();
    },
  };
}

/** Sends the bytes on a connection of its own. @returns the first reply */
export async function exchange(
  owner: Owner,
  port: number,
  bytes: string | Uint8Array,
): Promise<RawReply> {
  const connection = await connectRaw(owner, port);
  connection.send(bytes);
  return connection.reply();
}

/** The first whole reply in the bytes, and how many bytes it takes. */
export function parseReply(bytes: Buffer, to?: 'HEAD'): [RawReply, number] | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0) return undefined;
  const [statusLine = '', ...lines] = bytes.subarray(0, headEnd).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.1 ([1-5][0-9]{2}) /.exec(statusLine)?.[1]);
  assert(status, `not a status line: ${statusLine}`);
  const headers = new Map<string, string>();
  for (const line of lines) {
    const [, name = '', value = ''] =
      /^([^:\s]+): *(.*)$/.exec(line) ?? assert.fail(`not a header line: ${line}`);
    const before = headers.get(name.toLowerCase());
    headers.set(name.toLowerCase(), before === undefined ? value : `${before}, ${value}`);
  }
  const bodyStart = headEnd + 4;
  const hasBody = to !== 'HEAD' && status >= 200 && status !== 204 && status !== 304;
  const bodyEnd = bodyStart + (hasBody ? Number(headers.get('content-length')) : 0);
  assert(Number.isInteger(bodyEnd), 'the reply has no Content-Length');
  if (bytes.length < bodyEnd) return undefined;
  return [{ status, headers, body: bytes.subarray(bodyStart, bodyEnd).toString() }, bodyEnd];
}

export interface RawRequest {
  readonly method?: string;
  readonly target?: string;
  readonly version?: string;
  /**
   * Replaces the usual header field of that name; an array gives it several times, undefined leaves
   * it out.
   */
  readonly fields?: Readonly<Record<string, string | readonly string[] | undefined>>;
}

/** The bytes of a request: a create that would be accepted, but for what `request` changes. */
export function rawRequest(body: string | Uint8Array, request: RawRequest = {}): Buffer {
  const { method = 'POST', target = '/plants', version = 'HTTP/1.1', fields = {} } = request;
  const usual = {
    Host: 'localhost',
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
  };
  const lines = Object.entries({ ...usual, ...fields }).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((one) => `${name}: ${one}\r\n`),
  );
  return Buffer.concat([
    Buffer.from(`${method} ${target} ${version}\r\n${lines.join('')}\r\n`, 'latin1'),
    Buffer.from(body as string),
  ]);
}

/** The bytes of a request without a body and a token. */
export function bareRequest(target: string, method = 'GET'): Buffer {
  const none = { Authorization: undefined, 'Content-Type': undefined, 'Content-Length': undefined };
  return rawRequest('', { method, target, fields: none });
}

/** A request that is answered at once, whatever the store does. */
export const describeRequest = bareRequest('/openapi.json');

/**
 * Sends `parts` and resolves when the server has read them, though it has not answered them: a
 * request that is answered at once goes before them in the same packet.
 */
export async function sendAndWaitUntilRead(
  connection: RawConnection,
  ...parts: (string | Uint8Array)[]
): Promise<void> {
  connection.send(describeRequest, ...parts);
  assert.equal((await connection.reply()).status, 200);
}

/** Asserts what holds for every error reply of the public listener. @returns the message */
export function assertRefusal(reply: RawReply, name: ProblemName): string {
  return assertProblem(reply, problems[name]);
}

/** Asserts what holds for every error reply of a catalogue. @returns the message */
export function assertProblem(reply: RawReply, { code, status, headers }: Problem): string {
  assert.equal(reply.status, status, reply.body);
  assert.equal(reply.headers.get('content-type'), 'application/json');
  assert.equal(reply.headers.get('x-content-type-options'), 'nosniff');
  const body = JSON.parse(reply.body);
  assert.deepEqual(Object.keys(body).sort(), ['error', 'message']);
  assert.equal(body.error, code, reply.body);
  assert.equal(body.error, body.error | 0, 'the code is an int32');
  assert.equal(typeof body.message, 'string');
  assert.notEqual(body.message, '');
  assert.match(reply.headers.get('x-request-id') ?? '', /./);
  for (const [field, value] of Object.entries(headers))
    assert.equal(reply.headers.get(field.toLowerCase()), value, field);
  return body.message;
}
