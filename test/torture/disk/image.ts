import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startServer } from '../../helpers/program.ts';
import { connectRaw, type RawConnection, rawRequest } from '../../helpers/raw.ts';
import { checkEntries, type JournalEntry, type SentPlant } from '../check-journal.ts';
import { bodyOf } from '../workload.ts';
import { storeFolder, tokenFile } from './record.ts';

/** A server that takes longer to start on an image fails it. */
const startMsMax = 30_000;

/**
 * Starts a server on the folder, compares the store with what clients know, tries the first token,
 * and kills the server.
 *
 * @returns what is wrong
 */
export async function checkImage(
  image: string,
  entries: readonly JournalEntry[],
  random: () => number,
): Promise<string[]> {
  const store = join(image, storeFolder, 'plants.db');
  const acknowledged = acknowledgedPlants(entries);
  await using stack = new AsyncDisposableStack();
  const owner = { after: (cleanup: () => unknown) => stack.defer(() => void cleanup()) };
  const kill = () => stack.disposeAsync();
  const alarm = setTimeout(kill, startMsMax);
  stack.defer(() => clearTimeout(alarm));
  try {
    const args = ['--http-threads', '1', '--log-format', 'json'];
    const server = await startServer(owner, store, args, {});
    // Before the retry, which would create a plant that is lost.
    const { violations } = checkEntries(store, entries);
    const plant = acknowledged[Math.floor(random() * acknowledged.length)];
    const connection = await connectRaw(owner, server.port);
    const refused = plant && (await retry(connection, plant, join(image, storeFolder, tokenFile)));
    await server.stop('SIGKILL');
    const isFalseAlarm = server.stderr().includes('the WAL is damaged');
    return [
      ...(refused === undefined ? [] : [refused]),
      ...(isFalseAlarm
        ? ['the WAL is called damaged, although only unsynced writes are gone']
        : []),
      ...violations,
    ];
  } catch (error) {
    return [`the server does not run on it: ${(error as Error).message}`];
  }
}

function acknowledgedPlants(entries: readonly JournalEntry[]): SentPlant[] {
  const sent = new Map(
    entries.flatMap((entry) => ('sent' in entry ? [[entry.n, entry.sent] as const] : [])),
  );
  return entries.flatMap((entry) =>
    'status' in entry && entry.status === 200 ? (sent.get(entry.n) ?? []) : [],
  );
}

/**
 * Sends an acknowledged plant again, with the token of the first start. @returns what is wrong with
 * the reply
 */
async function retry(
  connection: RawConnection,
  plant: SentPlant,
  tokenPath: string,
): Promise<string | undefined> {
  if (!existsSync(tokenPath)) return `plants were acknowledged, and ${tokenFile} is gone`;
  connection.send(
    rawRequest(bodyOf(plant), {
      fields: { Authorization: `Bearer ${readFileSync(tokenPath, 'utf8').trim()}` },
    }),
  );
  const { status, body } = await connection.reply();
  return status === 200
    ? undefined
    : `an acknowledged plant was sent again and answered with ${status} ${body}`;
}
