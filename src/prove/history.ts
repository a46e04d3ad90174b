import type { NewPlant } from '../contract/plant.ts';
import type { PlantReader } from '../store/plants.ts';

/**
 * The plants that were sent and acknowledged, in constant memory: a plant follows from the seed and
 * its number. A connection is a lane. Lane `index` of n sends the numbers index, index + n, and so
 * on, each after the acknowledgement of the one before.
 */
export type History = ReturnType<typeof newHistory>;
export type Lane = History['lanes'][number];
/** `lost`: acknowledged and missing. `extra`: never sent. */
export type Faults = Awaited<ReturnType<typeof faultsIn>>;

export function newHistory(seed: number, laneCount: number) {
  return {
    seed,
    lanes: Array.from({ length: laneCount }, (_, index) => ({
      index,
      acknowledged: 0,
      /** Whether the next plant was sent, and its outcome is unknown. */
      isUnderWay: false,
    })),
  };
}

export function nextPlant({ seed, lanes }: History, { index, acknowledged }: Lane): NewPlant {
  return plantAt(seed, acknowledged * lanes.length + index);
}

/** All numbers below the result were acknowledged. */
export function acknowledgedBelow({ lanes }: History): number {
  return Math.min(...lanes.map(({ acknowledged }) => acknowledged)) * lanes.length;
}

export function acknowledgedInAll({ lanes }: History): number {
  return lanes.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
}

/** Compares the plants from number `from` on with the store; 0 compares the whole store. */
export async function faultsIn(store: PlantReader, history: History, from: number) {
  const { seed, lanes } = history;
  let [lost, changed, extra] = [0, 0, 0];
  let next = from;
  const loseUpTo = (end: number) => {
    for (; next < end; next += 1) if (stateOf(history, next) === 'acknowledged') lost += 1;
  };
  const after = from === 0 ? undefined : plantAt(seed, from - 1).id;
  for await (const { id, name, tag } of store.listPlants({
    after,
    limit: Number.MAX_SAFE_INTEGER,
  })) {
    const number = Number(id - firstId);
    if (number < 0 || stateOf(history, number) === 'not sent') {
      extra += 1;
      continue;
    }
    loseUpTo(number);
    next = number + 1;
    const sent = plantAt(seed, number);
    if (sent.name !== name || sent.tag !== tag) changed += 1;
  }
  loseUpTo(Math.max(...lanes.map(({ acknowledged }) => acknowledged)) * lanes.length);
  return { lost, changed, extra };
}

function stateOf({ lanes }: History, number: number): 'acknowledged' | 'under way' | 'not sent' {
  const lane = lanes[number % lanes.length] as Lane;
  const place = Math.floor(number / lanes.length);
  if (place < lane.acknowledged) return 'acknowledged';
  return place === lane.acknowledged && lane.isUnderWay ? 'under way' : 'not sent';
}

/** The first ids that a double cannot hold exactly. */
const firstId = 2n ** 53n;
const tags = [undefined, '', 'Alnus', 'Ёлка 🌲'];

function plantAt(seed: number, number: number): NewPlant {
  const mixed = Math.imul(number ^ seed, 0x9e3779b1) >>> 0;
  // 1 in 256 is larger than a page of the database.
  const more = mixed >>> 24 === 0 ? 'root '.repeat(1_000) : 'leaf '.repeat((mixed >>> 20) & 7);
  return {
    id: firstId + BigInt(number),
    name: `Plant ${seed}-${number} ${more}`,
    tag: tags[(mixed >>> 18) & 3],
  };
}
