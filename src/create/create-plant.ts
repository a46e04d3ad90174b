import { isJsonInUtf8 } from '../contract/media-type.ts';
import { idTaken, parseNewPlant, plantBody, plantRefused } from '../contract/plant.ts';
import { Refusal } from '../contract/problems.ts';
import {
  type BodyHandler,
  catchDefect,
  type Exchange,
  readBody,
  sendDefect,
  sendJson,
  sendRefusal,
} from '../http/exchange.ts';
import type { Fields, RequestHead } from '../http/request-head.ts';
import { numberText, rateText } from '../quantity-text.ts';
import type { CommitQueue, Offer, Transaction, WaitingPlant } from '../store/commit-queue.ts';
import { causeOf, type StoreError } from '../store/errors.ts';
import type { Settlement } from '../store/plants.ts';
import type { Rate } from '../store/tables/tokens.ts';
import type { Access, Caller } from '../tokens/access.ts';
import type { RateLimiter } from '../tokens/rate-limit.ts';
import { authenticateCreate, roleRefusal, type Throttle } from './authorization.ts';
import type { CreateObserver, ObserveCreate } from './observer.ts';

export interface CreatePlantOptions {
  readonly access: Access;
  readonly limiter: RateLimiter;
  readonly queue: CommitQueue;
  readonly throttle: Throttle;
  readonly observe: ObserveCreate;
}

/**
 * The operation (specification, "Create plant"): authorizes, reads and parses the plant, queues it,
 * and answers when it is durable.
 */
export function createPlant(
  exchange: Exchange,
  head: RequestHead,
  options: CreatePlantOptions,
): void | Promise<void> {
  const caller = authenticateCreate(exchange, head.fields, options.access);
  if (caller instanceof Promise)
    return caller.then((found) => createPlantAs(found, exchange, head, options));
  createPlantAs(caller, exchange, head, options);
}

function createPlantAs(
  caller: Caller | Refusal,
  exchange: Exchange,
  head: RequestHead,
  options: CreatePlantOptions,
): void {
  if (caller instanceof Refusal) return options.throttle(() => sendRefusal(exchange, caller));
  exchange.account = caller.account;
  const observer = options.observe(exchange, caller.tally);
  exchange.observer = observer;
  if (caller.role !== 'create') {
    const refusal = roleRefusal(caller.role);
    return options.throttle(() => sendRefusal(exchange, refusal));
  }
  const refusal =
    (caller.rate && rateRefusal(caller.account, caller.rate, options.limiter)) ??
    contentRefusal(head.fields);
  if (refusal) return sendRefusal(exchange, refusal);
  readBody(exchange, new Create(exchange, options.queue, observer, caller));
}

/** Refuses a body that is not plain JSON (41500). */
function contentRefusal(fields: Fields): Refusal | undefined {
  if (!isJsonInUtf8(fields.get('content-type'))) return notJson;
  return fields.has('content-encoding') ? compressed : undefined;
}

const notJson = new Refusal('mediaTypeUnsupported');
const compressed = new Refusal(
  'mediaTypeUnsupported',
  'The body must not be compressed: send it without the header `Content-Encoding`.',
);

/** With the fields of draft-ietf-httpapi-ratelimit-headers-10. */
export function rateRefusal(account: number, rate: Rate, limiter: RateLimiter) {
  const waitMs = limiter.tryTake(account, rate);
  if (waitMs === 0) return undefined;
  const waitSeconds = Math.ceil(waitMs / 1_000);
  const windowSeconds = Math.max(1, Math.ceil((86_400 * rate.burst) / rate.perDay));
  return new Refusal(
    'rateLimited',
    `The token may send creates at ${rateText(rate)}, and ${numberText(rate.burst)} at once. ` +
      `This plant was not stored; retry in ${numberText(waitSeconds)} s.`,
    {
      'Retry-After': `${waitSeconds}`,
      'RateLimit-Policy': `"token";q=${rate.burst};w=${windowSeconds}`,
      RateLimit: `"token";r=0;t=${waitSeconds}`,
    },
  );
}

/**
 * A create under way. A class, and itself the entry in the queue: the garbage collector copies
 * everything that lives from request to reply, so this is one object.
 */
class Create implements BodyHandler, WaitingPlant {
  id = 0n;
  name = '';
  tag: string | undefined;
  bytes = 0;
  private readonly exchange: Exchange;
  private readonly queue: CommitQueue;
  private readonly observer: CreateObserver;
  private readonly caller: Caller;

  constructor(exchange: Exchange, queue: CommitQueue, observer: CreateObserver, caller: Caller) {
    this.exchange = exchange;
    this.queue = queue;
    this.observer = observer;
    this.caller = caller;
  }

  get createdBy(): number {
    return this.caller.id;
  }

  get account(): number {
    return this.caller.account;
  }

  onBody(body: Buffer): void {
    this.observer.received();
    const plant = parseNewPlant(body);
    if (plant instanceof Refusal) return sendRefusal(this.exchange, plant);
    this.id = plant.id;
    this.name = plant.name;
    this.tag = plant.tag;
    this.bytes = body.length;
    const offer = this.queue.offer(this);
    if (offer !== 'queued') return sendRefusal(this.exchange, notQueued(offer));
    this.observer.queued();
  }

  onClientClosed(): void {
    this.observer.clientClosed();
  }

  settle(settlement: Settlement, transaction: Transaction | undefined): void {
    this.observer.settled(settlement, transaction);
    catchDefect(this.exchange, () => this.answer(settlement));
  }

  private answer(settlement: Settlement): void {
    switch (settlement) {
      case 'created':
      case 'same':
        // The body has no id. A client that rounds its ids sees here what was stored.
        return sendJson(this.exchange, plantBody(this), `Plant-Id: ${this.id}\r\n`);
      case 'taken':
        return sendRefusal(this.exchange, idTaken(this.id));
      default:
        if (settlement.failure === 'refused')
          return sendRefusal(this.exchange, plantRefused(settlement.message));
        if (settlement.failure === 'defect') return sendDefect(this.exchange, settlement);
        // The plant may be stored.
        return sendRefusal(this.exchange, unavailable(settlement));
    }
  }
}

function notQueued(offer: Exclude<Offer, 'queued'>): Refusal {
  if (offer === 'full') return new Refusal('overloaded');
  const message = 'The store cannot take writes now. This plant was not stored; retry later.';
  return unavailable(offer, message);
}

function unavailable(error: StoreError, message?: string): Refusal {
  return new Refusal('storeUnavailable', message, undefined, causeOf(error));
}
