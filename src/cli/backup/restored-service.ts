import { randomBytes } from 'node:crypto';
import { generateToken } from '../../access/opaque-tokens.ts';
import { withoutSettings } from '../../config/environment.ts';
import { newPlantLine } from '../../contract/plant.ts';
import { limits } from '../../limits.ts';
import { programCommand } from '../../program.ts';
import { ProofError, type Server, startServer } from '../../prove/server.ts';
import type { PlantFigures } from '../../store/inspection.ts';
import { fileLocation } from '../../store/location.ts';
import { sqliteEngine } from '../../stores.ts';
import { CommandError, type Terminal } from '../command.ts';

/**
 * Starts a service on a restored store, compares the plants of the store with the backup, creates a
 * plant and retries the create. Ends the service.
 *
 * @param stop ends the service at any time
 * @throws CommandError, StoreOpenError, StoreError
 */
export async function tryRestoredStore(
  path: string,
  expected: PlantFigures,
  terminal: Terminal,
  stop: AbortSignal,
): Promise<{ readonly startMs: number; readonly createMs: number }> {
  const token = generateToken();
  const options = {
    command: [...programCommand, 'serve'],
    env: { ...withoutSettings(terminal.env), PLANT_STORE_TOKEN: token },
  };
  await using server = await startServer(options, { flag: `sqlite:${path}`, env: {} }, stop).catch(
    (cause) => {
      throw cause instanceof ProofError ? new CommandError(cause.message, { cause }) : cause;
    },
  );
  await demandPlants(path, expected, terminal);
  terminal.showProgress('creating a plant');
  // Among 2^64 ids, a random id is new.
  const plant = { id: randomBytes(8).readBigInt64BE(), name: 'Drill', tag: undefined };
  const startedMs = performance.now();
  await demandCreated(server, token, plant);
  const createMs = Math.round(performance.now() - startedMs);
  await demandCreated(server, token, plant);
  return { startMs: Math.round(server.startMs), createMs };
}

async function demandPlants(
  path: string,
  expected: PlantFigures,
  { showProgress }: Terminal,
): Promise<void> {
  const found = await sqliteEngine(fileLocation(path)).inspect(limits.cli.readMs, showProgress);
  if ('fault' in found) throw new CommandError(`the restored store ${found.fault}`);
  if (found.plants === expected.plants && found.digest === expected.digest) return;
  throw new CommandError(
    `the service has ${found.plants} plants with the digest ${found.digest}, and the backup ${expected.plants} with ${expected.digest}`,
  );
}

/** @throws CommandError unless the service answers 200 for this plant */
async function demandCreated(
  { port }: Server,
  token: string,
  plant: Parameters<typeof newPlantLine>[0],
): Promise<void> {
  const reply = await fetch(`http://127.0.0.1:${port}/plants`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
    body: newPlantLine(plant),
    signal: AbortSignal.timeout(limits.prove.answerMs),
  }).catch((cause) => {
    throw new CommandError(`the service does not answer a create (${cause.message})`, { cause });
  });
  const body = await reply.text();
  if (reply.status === 200 && reply.headers.get('Plant-Id') === `${plant.id}`) return;
  throw new CommandError(`the service answered ${reply.status} to a create: ${body}`);
}
