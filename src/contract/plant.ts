import { isUtf8 } from 'node:buffer';
import { int64FromLiteral } from './int64.ts';
import { type JsonValue, readJson } from './json.ts';
import { Refusal } from './problems.ts';

/** The reply to a create (specification, "Plant"). An absent tag differs from an empty tag. */
export interface Plant {
  readonly name: string;
  readonly tag: string | undefined;
}

export function isSamePlant(one: Plant, other: Plant): boolean {
  return one.name === other.name && one.tag === other.tag;
}

/** The body of a create (specification, "NewPlant"). `id` is exact over all of int64. */
export interface NewPlant extends Plant {
  readonly id: bigint;
}

/**
 * Reads the body of a create. Texts keep every byte. Other members than `id`, `name` and `tag` are
 * ignored.
 *
 * @returns the plant, or a refusal with code 40000 to 40003 for the first fault: of JSON, then of
 * the shape, then of the values
 */
export function parseNewPlant(body: Buffer): NewPlant | Refusal {
  if (!isUtf8(body))
    return new Refusal('bodyMalformed', 'The body is not JSON: it is not valid UTF-8.');
  const json = readJson(body.toString('utf8'));
  if (typeof json === 'string') return new Refusal('bodyMalformed', notJsonMessage(body, json));
  if (json.type !== 'object') {
    return new Refusal(
      'notNewPlant',
      `The body must be a JSON object with \`id\` and \`name\`; it is ${described[json.type]}.`,
    );
  }

  const id = json.members.get('id');
  const name = json.members.get('name');
  const tag = json.members.get('tag');
  if (id?.type !== 'number') return wrongMember('id', 'an integer', id);
  if (name?.type !== 'string') return wrongMember('name', 'a string', name);
  if (tag !== undefined && tag.type !== 'string')
    return wrongMember('tag', 'a string or left out', tag);
  return newPlant(id.literal, name.value, tag?.value);
}

/** @returns the plant, or a refusal with code 40002 or 40003 */
export function newPlant(
  idLiteral: string,
  name: string,
  tag: string | undefined,
): NewPlant | Refusal {
  const id = int64FromLiteral(idLiteral);
  if (id === undefined) return new Refusal('idNotInt64');
  if (!isStorable(name)) return notStorable('name');
  if (tag !== undefined && !isStorable(tag)) return notStorable('tag');
  return { id, name, tag };
}

/** PostgreSQL cannot store U+0000, and UTF-8 cannot encode a lone surrogate. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

export function idTaken(id: bigint): Refusal {
  return new Refusal('idTaken', `The id ${id} belongs to a plant with another name or tag.`);
}

/** @param cause the constraint, for operators */
export function plantRefused(cause: string): Refusal {
  return new Refusal('plantRefused', undefined, undefined, cause);
}

export function plantBody(plant: Plant): string {
  return JSON.stringify({ name: plant.name, tag: plant.tag });
}

/** A NewPlant as one line of NDJSON, with its exact id. */
export function newPlantLine(plant: NewPlant, more: Readonly<Record<string, string>> = {}): string {
  const rest = JSON.stringify({ name: plant.name, tag: plant.tag, ...more });
  return `{"id":${plant.id},${rest.slice(1)}`;
}

function notJsonMessage(body: Buffer, fault: string): string {
  if (body.length === 0) return 'The body is not JSON: it is empty.';
  if (body.subarray(0, 3).equals(byteOrderMark))
    return 'The body is not JSON: it starts with a byte order mark.';
  return `The body is not JSON as accepted here: ${fault}.`;
}

const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);

function wrongMember(name: string, expected: string, found: JsonValue | undefined): Refusal {
  const state = found === undefined ? 'it is missing' : `it is ${described[found.type]}`;
  return new Refusal('notNewPlant', `\`${name}\` must be ${expected}; ${state}.`);
}

function notStorable(name: string): Refusal {
  return new Refusal(
    'textNotStorable',
    `\`${name}\` holds U+0000 or a lone surrogate, which cannot be stored exactly.`,
  );
}

const described: Readonly<Record<JsonValue['type'], string>> = {
  object: 'an object',
  array: 'an array',
  string: 'a string',
  number: 'a number',
  boolean: 'a boolean',
  null: 'null',
};
