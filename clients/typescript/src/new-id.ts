import { InvalidInputError } from './errors.ts';

/** 2024-01-01T00:00:00Z. 41 bits of milliseconds last until 2093. */
const epochMs = 1_704_067_200_000;
const machines = 1 << 10;
const idsPerMs = 1 << 12;

/**
 * Makes a source of ids. An id is positive and has 63 bits: 41 for the milliseconds since 2024, 10
 * for the machine, 12 for a counter. The ids of one source ascend, also when the clock goes back.
 *
 * @param machine from 0 to 1023. Sources with different numbers never make the same id. Without a
 * number, the low 22 bits start each millisecond at a random value, and two sources may make the
 * same id.
 * @throws InvalidInputError
 */
export function createIdSource(machine?: number): () => bigint {
  if (machine !== undefined && !(Number.isInteger(machine) && machine >= 0 && machine < machines))
    throw new InvalidInputError(`machine must be an integer from 0 to ${machines - 1}`);
  let lastMs = -1;
  let low = 0;

  return () => {
    const nowMs = Math.max(0, Date.now() - epochMs);
    if (nowMs > lastMs) {
      lastMs = nowMs;
      low = start(machine);
    } else if (++low % idsPerMs === 0) {
      // All ids of this millisecond are used. The next millisecond has begun, or begins soon.
      lastMs += 1;
      low = start(machine);
    }
    return (BigInt(lastMs) << 22n) | BigInt(low);
  };
}

function start(machine: number | undefined): number {
  if (machine !== undefined) return machine * idsPerMs;
  const [random = 0] = crypto.getRandomValues(new Uint32Array(1));
  // The upper half of the counter stays free, so that the ids of one millisecond ascend.
  return random & (machines * idsPerMs - 1) & ~(idsPerMs >> 1);
}

/** An id of a source without a machine number, which all callers in this process share. */
export const newId: () => bigint = createIdSource();
