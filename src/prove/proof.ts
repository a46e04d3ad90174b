import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Environment } from '../cli/flags/environment.ts';
import { newPlantLine } from '../contract/plant.ts';
import { limits } from '../limits.ts';
import { engineOf } from '../store/engines.ts';
import type { StoreLocation } from '../store/location.ts';
import {
  acknowledgedBelow,
  acknowledgedInAll,
  type Faults,
  faultsIn,
  type History,
  type Lane,
  newHistory,
  nextPlant,
} from './history.ts';
import { ProofError, startServer } from './server.ts';

type ScratchStore = AsyncDisposable & { readonly location: StoreLocation };

export interface ProofOptions {
  readonly env: Environment;
  readonly makeStore: () => Promise<ScratchStore>;
  /** A token that the servers admit by their environment. */
  readonly token: string;
  readonly stop: AbortSignal;
  readonly report: (soFar: Proof) => void;
}

/** `loadMs` is the time in which a server was ready. */
const nothingYet = { kills: 0, acknowledged: 0, loadMs: 0, lost: 0, changed: 0, extra: 0 };

export type Proof = Readonly<typeof nothingYet>;

/**
 * Loads the program, kills it, checks the plants since the last kill and starts it again, until a
 * fault is found, or the time is over and a killed service has started again at least once. Then
 * checks all plants.
 *
 * @throws ProofError, also because of `stop`, unless enough was proved until then
 */
export async function prove(options: ProofOptions): Promise<Proof> {
  const { makeStore, report, stop } = options;
  const over = AbortSignal.any([stop, AbortSignal.timeout(limits.prove.seconds * 1_000)]);
  const history = newHistory(Math.floor(Math.random() * 2 ** 31), limits.prove.connections);
  await using store = await makeStore();
  let proof: Proof = nothingYet;
  do {
    const from = acknowledgedBelow(history);
    const loadMs = await oneLife(options, over, store, history);
    proof = {
      kills: proof.kills + 1,
      loadMs: proof.loadMs + loadMs,
      acknowledged: acknowledgedInAll(history),
      ...(await look(store.location, history, from)),
    };
    report(proof);
  } while (!isFinished(proof, over));
  return { ...proof, ...(await look(store.location, history, 0)) };
}

function isFinished({ lost, changed, extra, kills }: Proof, over: AbortSignal): boolean {
  return lost + changed + extra > 0 || (over.aborted && kills > 1);
}

async function look(location: StoreLocation, history: History, from: number): Promise<Faults> {
  await using store = await engineOf(location).openReader(limits.cli.readMs);
  return await faultsIn(store, history, from);
}

/**
 * From a start to a kill. The kill comes after a random number of acknowledgements, mostly a small
 * one, and at the latest after a fraction of the time.
 */
async function oneLife(
  options: ProofOptions,
  over: AbortSignal,
  store: ScratchStore,
  history: History,
): Promise<number> {
  const { env, token, stop } = options;
  await using server = await startServer(env, store.location, stop);
  const readyMs = performance.now();
  let left = Math.ceil(limits.prove.killAfterMax ** Math.random());
  // After the next acknowledgement: each life has at least one.
  const finish = () => {
    left = Math.min(left, 1);
  };
  const ending = AbortSignal.any([
    over,
    AbortSignal.timeout((limits.prove.seconds * 1_000) / limits.prove.livesMin),
  ]);
  ending.addEventListener('abort', finish);
  if (ending.aborted) finish();
  const agent = new Agent({ keepAlive: true });

  /** Sends creates until the server is gone. The first one repeats the one of unknown outcome. */
  async function sendUntilLost(lane: Lane): Promise<void> {
    for (;;) {
      lane.isUnderWay = true;
      const outcome = await send(agent, server.port, token, newPlantLine(nextPlant(history, lane)));
      if (outcome === 'lost') return;
      if (outcome !== 'acknowledged') throw new ProofError(outcome.failure);
      lane.acknowledged += 1;
      lane.isUnderWay = false;
      left -= 1;
      if (left === 0) server.kill();
    }
  }

  try {
    await Promise.all(history.lanes.map(sendUntilLost));
    await server.ended();
  } finally {
    agent.destroy();
    ending.removeEventListener('abort', finish);
  }
  return performance.now() - readyMs;
}

type Outcome = 'acknowledged' | 'lost' | { readonly failure: string };

function send(agent: Agent, port: number, token: string, body: string): Promise<Outcome> {
  const headers = {
    Authorization: `Bearer ${token}`,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(body),
  };
  const { promise, resolve } = Promise.withResolvers<Outcome>();
  const lost = () => resolve('lost');
  request({
    host: '127.0.0.1',
    port,
    agent,
    method: 'POST',
    path: '/plants',
    headers,
    timeout: limits.prove.answerMs,
  })
    .on('response', (reply) => {
      const { statusCode: status } = reply;
      text(reply).then((received) => {
        const failure = `the service answered ${status} to a valid plant: ${received}`;
        resolve(status === 200 ? 'acknowledged' : { failure });
      }, lost);
    })
    .on('timeout', () =>
      resolve({ failure: `the service has not answered for ${limits.prove.answerMs / 1_000} s` }),
    )
    .on('error', lost)
    .end(body);
  return promise;
}
