import type { Access, Caller } from '../access/access.ts';
import { type NewPlant, parseNewPlant, plantBody } from '../contract/plant.ts';
import { Refusal } from '../contract/problems.ts';
import type { CommitQueue, Offer, Settlement } from '../store/commit-queue.ts';
import { authorizeCreate } from './authorization.ts';
import { type BodyOptions, readBody, refuseByHead } from './body.ts';
import { type Exchange, guarded, sendDefect, sendJson, sendRefusal } from './exchange.ts';
import type { RequestHead } from './request-head.ts';
import type { Throttle } from './throttle.ts';

export interface CreatePlantOptions extends BodyOptions {
  readonly access: Access;
  readonly queue: CommitQueue;
  /** For refusals of callers. */
  readonly throttle: Throttle;
}

/** The operation (specification, "Create plant"): authorize, read, parse, hand over, and answer once it is durable. */
export function createPlant(exchange: Exchange, head: RequestHead, options: CreatePlantOptions): void {
  const caller = authorizeCreate(head.fields, options.access);
  if (caller instanceof Refusal) return options.throttle(() => sendRefusal(exchange, caller));
  const refusal = refuseByHead(head, options.bodyBytesMax);
  if (refusal) return sendRefusal(exchange, refusal);
  readBody(exchange, options, (body) => store(exchange, options.queue, caller, body));
}

function store(exchange: Exchange, queue: CommitQueue, caller: Caller, body: Buffer): void {
  const plant = parseNewPlant(body);
  if (plant instanceof Refusal) return sendRefusal(exchange, plant);
  const { id, name, tag } = plant;
  const offer = queue.offer({ id, name, tag, createdBy: caller.id }, body.length, (settlement) =>
    guarded(exchange, () => answer(exchange, plant, settlement)),
  );
  if (offer !== 'queued') sendRefusal(exchange, notTaken(offer));
}

function answer(exchange: Exchange, plant: NewPlant, settlement: Settlement): void {
  switch (settlement) {
    case 'created':
    case 'same':
      return sendJson(exchange, 200, plantBody(plant));
    case 'taken':
      return sendRefusal(exchange, new Refusal('idTaken', `The id ${plant.id} belongs to a plant with another name or tag.`));
    default:
      if (settlement.failure === 'defect') return sendDefect(exchange, settlement);
      return sendRefusal(exchange, uncertain);
  }
}

const uncertain = new Refusal(
  'storeUnavailable',
  'The store cannot take writes now. Retry with the same id: that is safe, also if this plant was stored.',
);

function notTaken(offer: Exclude<Offer, 'queued'>): Refusal {
  if (offer === 'full') return new Refusal('overloaded', 'Too many plants are waiting to be stored. This one was not stored; retry later.');
  return new Refusal('storeUnavailable', 'The store cannot take writes now. This plant was not stored; retry later.');
}
