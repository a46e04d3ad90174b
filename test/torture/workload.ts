import { rawRequest } from '../helpers/raw.ts';
import type { SentPlant } from './check-journal.ts';

export interface Request {
  readonly plant: SentPlant;
  /** False for a request that must be refused. */
  readonly storable: boolean;
  readonly bytes: Buffer;
  /** Fewer than all: the client goes away in the middle of the request. */
  readonly bytesSent: number;
  /** The client goes away without waiting for the reply. */
  readonly leaves: boolean;
}

export interface Workload {
  next(): Request;
  /** A retry of a request with an unknown outcome, if there is any. */
  nextUnknown(): Request | undefined;
  /** @param status undefined if the connection was lost before a reply */
  settled(request: Request, status: number | undefined): void;
}

/**
 * Decides what is sent: new plants, safe retries, conflicts, requests that must be refused, clients
 * that go away.
 */
export function createWorkload(seed: number, token: string): Workload {
  const random = seededRandom(seed + 1);
  const createRequest = (plant: SentPlant) => whole(plant, true, bodyOf(plant), `Bearer ${token}`);
  const upTo = (max: number) => Math.floor(random() * max);
  const ids = new Set<string>();
  const acknowledged: SentPlant[] = [];
  const unknown: SentPlant[] = [];
  let newest: SentPlant | undefined;

  function newId(): string {
    // Half of the ids ascend, half lie anywhere in int64.
    const id =
      random() < 0.5
        ? BigInt(ids.size)
        : BigInt.asIntN(64, (BigInt(upTo(2 ** 32)) << 32n) | BigInt(upTo(2 ** 32)));
    if (ids.has(`${id}`)) return newId();
    ids.add(`${id}`);
    return `${id}`;
  }

  function newPlant(): SentPlant {
    const name = names[upTo(names.length)]?.(upTo) ?? '';
    return { id: newId(), name, tag: ['Alnus', '', undefined, 'Ёлка 🌲'][upTo(4)] };
  }

  function conflicting({ id, name, tag }: SentPlant): SentPlant {
    if (random() < 0.5) return { id, name: `${name}?`, tag };
    return { id, name, tag: tag === undefined ? '' : undefined };
  }

  function anyOf(plants: readonly SentPlant[]): SentPlant | undefined {
    return plants[upTo(plants.length)];
  }

  function nextUnknown(): Request | undefined {
    const plant = unknown.shift();
    return plant && createRequest(plant);
  }

  function nextKnown(draw: number): Request | undefined {
    const earlier = anyOf(acknowledged);
    if (draw < 0.15) return earlier && createRequest(earlier);
    if (draw < 0.25) return earlier && createRequest(conflicting(earlier));
    // The newest may be under way still: two clients want the same id at once.
    if (draw < 0.3) return newest && createRequest(conflicting(newest));
    return undefined;
  }

  return {
    next() {
      const retry = random() < 0.5 ? nextUnknown() : undefined;
      const request = retry ?? nextKnown(random());
      if (request) return request;
      const plant = newPlant();
      const draw = random();
      if (draw < 0.12) return refusedRequest(plant, token, upTo);
      if (draw < 0.13)
        return {
          ...createRequest(plant),
          storable: false,
          bytesSent: createRequest(plant).bytes.length - 1 - upTo(20),
        };
      newest = plant;
      return draw < 0.14 ? { ...createRequest(plant), leaves: true } : createRequest(plant);
    },
    nextUnknown,
    settled({ plant, storable }, status) {
      if (!storable) return;
      if (status === 200) acknowledged.push(plant);
      if (status === undefined || status >= 500) unknown.push(plant);
    },
  };
}

/** So many ids are wanted at once, each so many times, and then by a retry now and then. */
const wanted = { ids: 32, times: 8 };

/**
 * Decides what is sent by many clients that want the same ids for different plants: each id is a
 * register, which is written once. `nextUnknown` also retries the acknowledged plant of each id.
 */
export function createRegisters(seed: number, token: string): Workload {
  const random = seededRandom(seed + 1);
  const upTo = (max: number) => Math.floor(random() * max);
  const createRequest = (plant: SentPlant) => whole(plant, true, bodyOf(plant), `Bearer ${token}`);
  const acknowledged = new Map<string, SentPlant>();
  const rest = acknowledged.values();
  const unknown: SentPlant[] = [];
  let sent = 0;

  function nextId(): string {
    const newest = Math.floor(sent / wanted.times);
    const index = upTo(10) === 0 ? upTo(newest) : Math.max(0, newest - upTo(wanted.ids));
    // Anywhere in int64.
    return `${BigInt.asIntN(64, BigInt(index) * 0x9e37_79b9_7f4a_7c15n)}`;
  }

  function newPlant(id: string): SentPlant {
    // What one request alone has sent shows which one was stored.
    const name = upTo(3) > 0 ? 'Alder' : `${sent} ${names[upTo(names.length)]?.(upTo)}`;
    return { id, name, tag: [undefined, '', 'Alnus'][upTo(3)] };
  }

  return {
    next() {
      sent += 1;
      // A retry may find what was committed, and what no standby has.
      const doubted = upTo(4) === 0 ? unknown.at(-1 - upTo(16)) : undefined;
      const id = doubted?.id ?? nextId();
      const known = upTo(5) < 2 ? (doubted ?? acknowledged.get(id)) : undefined;
      if (upTo(20) === 0) return refusedRequest(newPlant(id), token, upTo);
      return createRequest(known ?? newPlant(id));
    },
    nextUnknown() {
      const plant = unknown.shift() ?? rest.next().value;
      return plant && createRequest(plant);
    },
    settled({ plant, storable }, status) {
      if (!storable) return;
      if (status === 200) acknowledged.set(plant.id, plant);
      if (status === undefined || status >= 500) unknown.push(plant);
    },
  };
}

/** Leaves out requests whose client goes away: every reply must be received. */
export function nextThatStays({ next }: Workload): Request {
  let request = next();
  while (request.leaves || request.bytesSent < request.bytes.length) request = next();
  return request;
}

const names: readonly ((upTo: (max: number) => number) => string)[] = [
  () => 'Alder',
  () => '',
  () => 'Großblättrige Linde "Tilia" \\ 🌳\n',
  (upTo) => `Plant ${upTo(1_000_000)}`,
  (upTo) => `Plant ${upTo(1_000_000)}`,
  (upTo) => `Plant ${upTo(1_000_000)}`,
  (upTo) => 'leaf '.repeat(upTo(100)),
  // Several pages of the database, now and then.
  (upTo) => (upTo(20) === 0 ? 'root '.repeat(upTo(4_000)) : 'Oak'),
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
  return { plant, storable, bytes, bytesSent: bytes.length, leaves: false };
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
