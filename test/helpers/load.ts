import assert from 'node:assert/strict';
import { statusAndCode } from './faults.ts';
import { pause } from './pause.ts';
import { create } from './program.ts';

/**
 * Clients that create plants, with ids above a million, until they are told to stop. Each create
 * must get 200.
 *
 * @param between what a client does between a reply and its next create
 */
export function keepCreating(plantsUrl: string, clients = 8, between: () => unknown = pause) {
  const acknowledged: number[] = [];
  let lastId = 1_000_000;
  let isOver = false;
  const client = async () => {
    while (!isOver) {
      const id = (lastId += 1);
      assert.equal((await create(plantsUrl, { id, name: `plant ${id}` })).status, 200);
      acknowledged.push(id);
      await between();
    }
  };
  const done = Promise.all(Array.from({ length: clients }, client));
  // A client that fails must not leave the rest running.
  done.catch(() => (isOver = true));
  return {
    /** Ids, in the order of the replies. */
    acknowledged,
    async acknowledgedMore(plants: number): Promise<void> {
      const enough = acknowledged.length + plants;
      while (acknowledged.length < enough && !isOver) await pause();
    },
    /** Resolves when no create is under way. */
    async stop(): Promise<void> {
      isOver = true;
      await done;
    },
  };
}

/**
 * Clients that create plants with ascending ids, each until its create is refused or gets no reply,
 * or there are so many plants.
 *
 * @returns the ids of the acknowledged plants in their order, and the statuses and codes of others
 */
export async function createUntilRefused(
  plantsUrl: string,
  nameOf: (id: number) => string,
  { clients = 1, firstId = 1, plants = 1e9, afterEach = () => {} } = {},
) {
  const acknowledged: number[] = [];
  const refusals: Awaited<ReturnType<typeof statusAndCode>>[] = [];
  let nextId = firstId;
  const client = async () => {
    while (nextId < firstId + plants) {
      const id = nextId;
      nextId += 1;
      const reply = await create(plantsUrl, { id, name: nameOf(id) }).catch(() => undefined);
      if (reply?.status !== 200) {
        if (reply) refusals.push(await statusAndCode(reply));
        return;
      }
      acknowledged.push(id);
      afterEach();
    }
  };
  await Promise.all(Array.from({ length: clients }, client));
  return { acknowledged: acknowledged.sort((one, other) => one - other), refusals };
}
