/** The plant that every target stores. All ASCII, so a character is a byte. */
import type { PlantToCreate } from '../src/store/plants.ts';
import { type IdKind, idSequences } from './ids.ts';

const plant = { name: 'Monstera deliciosa', tag: 'tropical' };

/** The body of an acknowledgement. */
export const plantBody = JSON.stringify(plant);

export function newPlantBytes(ids: IdKind): number {
  return newPlantBody('0'.repeat(idSequences[ids].digits)).length;
}

function newPlantBody(id: string): string {
  return `{"id":${id},${plantBody.slice(1)}`;
}

/** Plants for a store that is fed without HTTP. */
export function plantsFrom(ids: IdKind, ordinal: number, count: number): PlantToCreate[] {
  const { idAt } = idSequences[ids];
  return Array.from({ length: count }, (_, offset) => ({
    id: idAt(ordinal + offset),
    ...plant,
    createdBy: 0,
  }));
}

/** The request before and after its id, so that a send costs the generator one concatenation. */
export function requestAroundId(
  port: number,
  token: string,
  ids: IdKind,
): { head: string; tail: string } {
  const placeholder = '<id>';
  const request = [
    'POST /plants HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${newPlantBytes(ids)}`,
    '',
    newPlantBody(placeholder),
  ].join('\r\n');
  const [head = '', tail = ''] = request.split(placeholder);
  return { head, tail };
}
