import type { NewPlant } from '../contract/plant.ts';
import type { StoreReader } from '../store/store.ts';

/**
 * What was sent and what was acknowledged, in a few numbers however much it is: plants follow from
 * a seed and their number. Each connection sends its own numbers one after the other (its index,
 * and on in steps of as many as there are connections) and none before the last was acknowledged,
 * so that all but the one under way are.
 */
export interface History {
  readonly seed: number;
  readonly lanes: readonly Lane[];
}

export interface Lane {
  readonly index: number;
  acknowledged: number;
  /** Whether the next one was sent, and it is not known what came of it. */
  isUnderWay: boolean;
}

/**
 * How many plants were acknowledged and are not there, are there and changed, or are there and were
 * never sent.
 */
export interface Faults {
  readonly lost: number;
  readonly changed: number;
  readonly extra: number;
}

export function newHistory(seed: number, laneCount: number): History {
  return {
    seed,
    lanes: Array.from({ length: laneCount }, (_, index) => ({
      index,
      acknowledged: 0,
      isUnderWay: false,
    })),
  };
}

/** The plant that the lane is to send, the first time or again. */
export function nextPlant({ seed, lanes }: History, { index, acknowledged }: Lane): NewPlant {
  return plantAt(seed, acknowledged * lanes.length + index);
}

/** All numbers below this were acknowledged. */
export function acknowledgedBelow({ lanes }: History): number {
  return Math.min(...lanes.map(({ acknowledged }) => acknowledged)) * lanes.length;
}

export function acknowledgedInAll({ lanes }: History): number {
  return lanes.reduce((sum, { acknowledged }) => sum + acknowledged, 0);
}

/**
 * Compares the plants from number `from` on with what the store holds there; from 0 on, with all
 * that it holds.
 */
export async function faultsIn(
  store: StoreReader,
  history: History,
  from: number,
): Promise<Faults> {
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

/** Past what a double can hold exactly. */
const firstId = 2n ** 53n;
const tags = [undefined, '', 'Alnus', 'Ёлка 🌲'];

function plantAt(seed: number, number: number): NewPlant {
  const mixed = Math.imul(number ^ seed, 0x9e3779b1) >>> 0;
  // One in 256 takes more than a page of the database.
  const more = mixed >>> 24 === 0 ? 'root '.repeat(1_000) : 'leaf '.repeat((mixed >>> 20) & 7);
  return {
    id: firstId + BigInt(number),
    name: `Plant ${seed}-${number} ${more}`,
    tag: tags[(mixed >>> 18) & 3],
  };
}
