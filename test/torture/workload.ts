import { rawRequest } from '../helpers/raw.ts';
import type { SentPlant } from './check-journal.ts';

export interface Request {
  readonly plant: SentPlant;
  /** False for a request that must be refused. */
  readonly storable: boolean;
  readonly bytes: Buffer;
  /** The client goes away after so many bytes, without waiting for a reply. */
  readonly leavesAfter?: number;
}

export interface Workload {
  next(): Request;
  /** A retry of a request with an unknown outcome, if there is any. */
  nextUnknown(): Request | undefined;
  /** A retry of each acknowledged plant. */
  retries(): Iterator<Request, undefined>;
  /** @param status undefined if the connection was lost before a reply */
  settled(request: Request, status: number | undefined): void;
}

export interface WorkloadOptions {
  readonly seed: number;
  readonly token: string;
  /** So many ids are wanted at once, each so many times, and then by a retry now and then. */
  readonly wanted?: { readonly ids: number; readonly times: number };
  /** Whether some clients go away before they have a reply. */
  readonly leaves?: boolean;
}

/**
 * Decides what is sent by many clients: new plants, safe retries, conflicts, requests that must be
 * refused. Each id is a register, which is written once.
 */
export function createWorkload({
  seed,
  token,
  wanted = { ids: 1, times: 1 },
  leaves = false,
}: WorkloadOptions): Workload {
  const random = seededRandom(seed + 1);
  const upTo = (max: number) => Math.floor(random() * max);
  const createRequest = (plant: SentPlant) => whole(plant, true, bodyOf(plant), `Bearer ${token}`);
  const acknowledged = new Map<string, SentPlant>();
  const unknown: SentPlant[] = [];
  let sent = 0;

  function nextId(): string {
    const newest = Math.floor(sent / wanted.times);
    const index = upTo(10) === 0 ? upTo(newest) : Math.max(0, newest - upTo(wanted.ids));
    // Half of the ids ascend, half lie anywhere in int64.
    return index % 2 === 0
      ? `${index}`
      : `${BigInt.asIntN(64, BigInt(index) * 0x9e37_79b9_7f4a_7c15n)}`;
  }

  function newPlant(id: string): SentPlant {
    // What one request alone has sent shows which one was stored.
    const name = upTo(3) > 0 ? 'Alder' : `${sent} ${names[upTo(names.length)]?.(upTo)}`;
    return { id, name, tag: [undefined, '', 'Alnus', 'Ёлка 🌲'][upTo(4)] };
  }

  return {
    next() {
      sent += 1;
      // A retry may find what was committed, and what no standby has.
      const doubted = upTo(4) === 0 ? unknown.at(-1 - upTo(16)) : undefined;
      const id = doubted?.id ?? nextId();
      const known = upTo(5) < 2 ? (doubted ?? acknowledged.get(id)) : undefined;
      if (upTo(20) === 0) return refusedRequest(newPlant(id), token, upTo);
      const request = createRequest(known ?? newPlant(id));
      const { length } = request.bytes;
      if (!leaves || upTo(50) > 0) return request;
      if (upTo(2) === 0) return { ...request, leavesAfter: length };
      return { ...request, storable: false, leavesAfter: length - 1 - upTo(20) };
    },
    nextUnknown() {
      const plant = unknown.shift();
      return plant && createRequest(plant);
    },
    retries: () => acknowledged.values().map(createRequest),
    settled({ plant, storable }, status) {
      if (!storable) return;
      if (status === 200) acknowledged.set(plant.id, plant);
      if (status === undefined || status >= 500) unknown.push(plant);
    },
  };
}

const names: readonly ((upTo: (max: number) => number) => string)[] = [
  () => '',
  () => 'Großblättrige Linde "Tilia" \\ 🌳\n',
  () => 'Oak',
  (upTo) => 'leaf '.repeat(upTo(100)),
  // Several pages of the database, now and then.
  (upTo) => 'root '.repeat(upTo(20) === 0 ? upTo(4_000) : 1),
];

/** A request that names the id of the plant and must leave nothing in the store. */
function refusedRequest(plant: SentPlant, token: string, upTo: (max: number) => number): Request {
  const { id, name } = plant;
  const quoted = JSON.stringify(name);
  const bodies = [
    `{"id":${id},"name":${quoted}`,
    `{"id":${id}}`,
    `{"id":${id},"name":null}`,
    `{"id":${id},"name":${quoted},"tag":null}`,
    `{"id":"${id}","name":${quoted}}`,
    `{"id":${id}.5,"name":${quoted}}`,
    `{"id":${id},"name":"a\\u0000b"}`,
    `{"id":${id},"name":"one","name":"two"}`,
    `[${bodyOf(plant)}]`,
  ];
  const body = bodies[upTo(bodies.length + 2)];
  if (body !== undefined) return whole(plant, false, body, `Bearer ${token}`);
  return whole(plant, false, bodyOf(plant), upTo(2) === 0 ? 'Bearer not-a-token' : 'Basic YTpi');
}

/** The body of a create, with the id as exact as it is. */
export function bodyOf({ id, name, tag }: SentPlant): string {
  return `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`;
}

function whole(plant: SentPlant, storable: boolean, body: string, authorization: string): Request {
  const bytes = rawRequest(body, { fields: { Authorization: authorization } });
  return { plant, storable, bytes };
}

/** Mulberry32: from 0 to 1, the same for the same seed. */
export function seededRandom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
