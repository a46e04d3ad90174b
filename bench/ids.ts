/**
 * The kinds of ids that are created. Each id is made from its ordinal alone, so that a fill and a
 * load go on where the other ended.
 */

export type IdKind = 'short' | 'ascending' | 'snowflake' | 'random';

interface IdSequence {
  label: string;
  /** The same for every id, so that every request has the same length. */
  digits: number;
  firstOrdinal: number;
  idAt(ordinal: number): bigint;
}

const longBase = 10n ** 18n;

export const idSequences: Record<IdKind, IdSequence> = {
  // What is compared with peers: they keep no id beyond 2^53 exact.
  short: { label: 'ascending, 10 digits', digits: 10, firstOrdinal: 1_000_000_000, idAt: BigInt },
  ascending: {
    label: 'ascending',
    digits: 19,
    firstOrdinal: 0,
    idAt: (ordinal) => longBase + BigInt(ordinal),
  },
  snowflake: { label: 'snowflake', digits: 19, firstOrdinal: 0, idAt: snowflakeAt },
  random: {
    label: 'random',
    digits: 19,
    firstOrdinal: 0,
    idAt: (ordinal) => longBase + scatter(BigInt(ordinal)),
  },
};

const workers = 8;
const idsInMs = 32;
const workerSkewMs = 3;
const firstMs = 500_000_000_000;

/**
 * timestamp << 22 | worker << 12 | sequence. The workers take turns, and the clock of each is a
 * little ahead of the one before.
 */
function snowflakeAt(ordinal: number): bigint {
  const worker = ordinal % workers;
  const sequence = Math.floor((ordinal % idsInMs) / workers);
  const timestampMs = firstMs + Math.floor(ordinal / idsInMs) + worker * workerSkewMs;
  return (BigInt(timestampMs) << 22n) | BigInt((worker << 12) | sequence);
}

const scatterBits = 62;

/** Uniform over 2^62 numbers. Each step can be undone, so no number comes twice. */
function scatter(ordinal: bigint): bigint {
  let mixed = ordinal + 1n;
  for (const factor of [0xbf58_476d_1ce4_e5b9n, 0x94d0_49bb_1331_11ebn]) {
    mixed = BigInt.asUintN(scatterBits, (mixed ^ (mixed >> 30n)) * factor);
  }
  return mixed ^ (mixed >> 31n);
}
