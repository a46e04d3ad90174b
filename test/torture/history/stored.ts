import pg from 'pg';
import type { SentPlant } from '../check-journal.ts';

/** Reads the plants without the service, as anyone could. */
export async function plantsIn(url: string): Promise<Map<string, SentPlant>> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    const { rows } = await client.query('SELECT id::text, name, tag FROM plants');
    return new Map(rows.map(({ id, name, tag }) => [id, { id, name, tag: tag ?? undefined }]));
  } finally {
    await client.end();
  }
}
