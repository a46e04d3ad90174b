/** The plant that every target stores, and its requests. All ASCII, so a character is a byte. */

const plant = { name: 'Monstera deliciosa', tag: 'tropical' };

/** The body of an acknowledgement. */
export const plantBody = JSON.stringify(plant);

/**
 * Kinds of ids. Each id follows from its ordinal alone, so a load goes on where a fill ended.
 * `short` is for the comparison with peers, which keep no id beyond 2^53 exact.
 */
export type IdKind = 'short' | 'ascending' | 'random';

interface IdSequence {
  /** Of each id, so that all requests have the same length. */
  digits: number;
  firstOrdinal: number;
  idAt(ordinal: number): bigint;
}

const longBase = 10n ** 18n;
const long = { digits: 19, firstOrdinal: 0 };

export const idSequences: Record<IdKind, IdSequence> = {
  short: { digits: 10, firstOrdinal: 1_000_000_000, idAt: BigInt },
  ascending: { ...long, idAt: (ordinal) => longBase + BigInt(ordinal) },
  random: { ...long, idAt: (ordinal) => longBase + scatter(BigInt(ordinal)) },
};

const scatterBits = 62;

/** Uniform over 2^62 numbers. Each step is invertible, so no number comes twice. */
function scatter(ordinal: bigint): bigint {
  let mixed = ordinal + 1n;
  for (const factor of [0xbf58_476d_1ce4_e5b9n, 0x94d0_49bb_1331_11ebn]) {
    mixed = BigInt.asUintN(scatterBits, (mixed ^ (mixed >> 30n)) * factor);
  }
  return mixed ^ (mixed >> 31n);
}

export type FileFormat = 'ndjson' | 'csv';

const linesInChunk = 10_000;

/** A file of plants, for `plant-store import`. */
export function* fileOfPlants(
  format: FileFormat,
  ids: IdKind,
  firstOrdinal: number,
  count: number,
): Generator<string> {
  const { idAt } = idSequences[ids];
  const line = (id: bigint) =>
    format === 'csv' ? `${id},${plant.name},${plant.tag}\n` : `${newPlantBody(`${id}`)}\n`;
  if (format === 'csv') yield 'id,name,tag\n';
  for (let done = 0; done < count; done += linesInChunk) {
    const length = Math.min(linesInChunk, count - done);
    yield Array.from({ length }, (_, index) => line(idAt(firstOrdinal + done + index))).join('');
  }
}

export const newPlantBytes = newPlantBody('0'.repeat(idSequences.short.digits)).length;

function newPlantBody(id: string): string {
  return `{"id":${id},${plantBody.slice(1)}`;
}

/** The request before and after its id, so that a send costs the generator one concatenation. */
export function requestAroundId(
  port: number,
  token: string,
  ids: IdKind,
): { head: string; tail: string } {
  const placeholder = '0'.repeat(idSequences[ids].digits);
  const head = [
    'POST /plants HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${newPlantBody(placeholder).length}`,
    '',
    '{"id":',
  ];
  return { head: head.join('\r\n'), tail: `,${plantBody.slice(1)}` };
}
