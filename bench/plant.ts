/** The record every target stores, as the specification's NewPlant and Plant. All ASCII: a character is a byte. */

/** Ids ascend from here; ten digits each, so that every request has the same length. */
export const firstId = 1_000_000_000;

const plant = { name: 'Monstera deliciosa', tag: 'tropical' };

/** The only 200 body that counts as an acknowledgement. */
export const plantBody = JSON.stringify(plant);

export const newPlantBytes = newPlantBody(firstId).length;

function newPlantBody(id: number): string {
  return JSON.stringify({ id, ...plant });
}

/**
 * The request, cut in two where the id goes, so that a send costs one concatenation and the generator
 * stays cheaper than what it measures.
 */
export function requestAroundId(port: number, token: string): { head: string; tail: string } {
  const request = [
    'POST /plants HTTP/1.1',
    `Host: 127.0.0.1:${port}`,
    `Authorization: Bearer ${token}`,
    'Content-Type: application/json',
    `Content-Length: ${newPlantBytes}`,
    '',
    newPlantBody(firstId),
  ].join('\r\n');
  const idAt = request.lastIndexOf(String(firstId));
  return { head: request.slice(0, idAt), tail: request.slice(idAt + String(firstId).length) };
}
