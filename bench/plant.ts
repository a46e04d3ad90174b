/** The plant that every target stores, and its requests. All ASCII, so a character is a byte. */

const plant = { name: 'Monstera deliciosa', tag: 'tropical' };

/** The body of an acknowledgement. */
const plantBody = JSON.stringify(plant);

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

/** How a target is asked to create a plant. */
interface Dialect {
  path: string;
  /** The id as JSON, around its digits. */
  id: [before: string, after: string];
  /** Whether the body of a 200 says that the plant was created. */
  isPlant(body: string): boolean;
}

export type DialectName = 'plants' | 'pocketbase';

export const dialects: Record<DialectName, Dialect> = {
  plants: { path: '/plants', id: ['', ''], isPlant: (body) => body === plantBody },
  // The id of a record is a string of 15 characters. The reply has more fields.
  pocketbase: {
    path: '/api/collections/plants/records',
    id: ['"00000', '"'],
    isPlant: (body) => body.includes(plantBody.slice(1, -1)),
  },
};

/** The request before and after its id, so that a send costs the generator one concatenation. */
export function requestAroundId(
  { path, id: [before, after] }: Dialect,
  port: number,
  token: string,
  ids: IdKind,
): { head: string; tail: string } {
  const placeholder = '0'.repeat(idSequences[ids].digits);
  const body = newPlantBody(before + placeholder + after);
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
    '',
    newPlantBody(before).split(',')[0],
  ];
  return { head: head.join('\r\n'), tail: `${after},${plantBody.slice(1)}` };
}
