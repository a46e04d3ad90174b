/**
 * Kinds of ids. Each id follows from its ordinal alone, so a load goes on where a fill ended, and
 * the reverse.
 */

export type IdKind = 'short' | 'ascending' | 'snowflake' | 'random';

interface IdSequence {
  label: string;
  /** Of each id, so that all requests have the same length. */
  digits: number;
  firstOrdinal: number;
  idAt(ordinal: number): bigint;
}

const longBase = 10n ** 18n;
const long = { digits: 19, firstOrdinal: 0 };

export const idSequences: Record<IdKind, IdSequence> = {
  // For the comparison with peers, which keep no id beyond 2^53 exact.
  short: { label: 'ascending, 10 digits', digits: 10, firstOrdinal: 1_000_000_000, idAt: BigInt },
  ascending: { ...long, label: 'ascending', idAt: (ordinal) => longBase + BigInt(ordinal) },
  snowflake: { ...long, label: 'snowflake', idAt: snowflakeAt },
  random: { ...long, label: 'random', idAt: (ordinal) => longBase + scatter(BigInt(ordinal)) },
};

const workers = 8;
const idsInMs = 32;
const workerSkewMs = 3;
const firstMs = 500_000_000_000;

/**
 * timestamp << 22 | worker << 12 | sequence. The workers take turns, and the clock of each is
 * `workerSkewMs` ahead of the one before.
 */
function snowflakeAt(ordinal: number): bigint {
  const worker = ordinal % workers;
  const sequence = Math.floor((ordinal % idsInMs) / workers);
  const timestampMs = firstMs + Math.floor(ordinal / idsInMs) + worker * workerSkewMs;
  return (BigInt(timestampMs) << 22n) | BigInt((worker << 12) | sequence);
}

const scatterBits = 62;

/** Uniform over 2^62 numbers. Each step is invertible, so no number comes twice. */
function scatter(ordinal: bigint): bigint {
  let mixed = ordinal + 1n;
  for (const factor of [0xbf58_476d_1ce4_e5b9n, 0x94d0_49bb_1331_11ebn]) {
    mixed = BigInt.asUintN(scatterBits, (mixed ^ (mixed >> 30n)) * factor);
  }
  return mixed ^ (mixed >> 31n);
}
