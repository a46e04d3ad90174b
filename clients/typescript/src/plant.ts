import { InvalidInputError } from './errors.ts';
import type { NewPlant } from './types.ts';

/** A plant as it is sent, whatever becomes of the object of the caller. */
export interface ExactPlant extends NewPlant {
  readonly id: bigint;
}

const int64Max = 2n ** 63n - 1n;

/** @throws InvalidInputError if the id is not exact, or a member is missing or of another type */
export function exactPlant(plant: NewPlant): ExactPlant {
  if (typeof plant !== 'object' || plant === null)
    throw new InvalidInputError('a plant must be an object with id and name');
  const { id, name, tag } = plant;
  if (typeof id === 'number' ? !Number.isSafeInteger(id) : typeof id !== 'bigint')
    throw new InvalidInputError(
      `id must be a bigint, or a number that is a safe integer; it is ${typeof id === 'number' ? id : typeof id}`,
    );
  if (id > int64Max || id < -int64Max - 1n)
    throw new InvalidInputError(`id must be within int64; it is ${id}`);
  if (typeof name !== 'string') throw new InvalidInputError('name must be a string');
  if (tag !== undefined && typeof tag !== 'string')
    throw new InvalidInputError('tag must be a string, or left out');
  return { id: BigInt(id), name, tag };
}

/** The body of a create. `JSON.stringify` takes no bigint. */
export function bodyOf({ id, name, tag }: ExactPlant): string {
  return `{"id":${id},${JSON.stringify({ name, tag }).slice(1)}`;
}
