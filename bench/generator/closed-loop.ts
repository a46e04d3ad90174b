import { openConnection } from './connection.ts';
import type { LoadOrder } from './order.ts';
import type { Tally } from './tally.ts';

/** Resolves after the last reply. Rejects at the first reply that is no acknowledgement. */
export async function runClosedLoop(order: LoadOrder, tally: Tally): Promise<void> {
  await Promise.all(
    Array.from({ length: order.connections }, (_, index) => runClient(order, index, tally)),
  );
}

/** A client that waits for each reply. A create counts if its reply comes in the measured time. */
function runClient(order: LoadOrder, index: number, tally: Tally): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentAtMs = 0;
    openConnection(order, index, {
      onReady: send,
      onFailure: reject,
      onAcknowledged(connection) {
        tally.acknowledged++;
        if (tally.state === 'measuring') tally.latenciesMs.push(performance.now() - sentAtMs);
        if (tally.state !== 'finishing') return send(connection);
        connection.end();
        resolve();
      },
    });

    function send(connection: { create(id: bigint): void }) {
      sentAtMs = performance.now();
      connection.create(tally.nextId());
    }
  });
}
