import type { Access, Caller } from '../access/access.ts';
import type { RateLimiter } from '../access/rate-limit.ts';
import type { Tally } from '../access/tally.ts';
import { idTaken, parseNewPlant, plantBody } from '../contract/plant.ts';
import { type ProblemName, Refusal } from '../contract/problems.ts';
import { refuseContent } from '../http/content-headers.ts';
import {
  type BodyTaker,
  catchDefect,
  type Exchange,
  readBody,
  sendDefect,
  sendJson,
  sendRefusal,
} from '../http/exchange.ts';
import type { RequestHead } from '../http/request-head.ts';
import type {
  CommitQueue,
  Offer,
  Settlement,
  Transaction,
  WaitingPlant,
} from '../store/commit-queue.ts';
import { causeOf, StoreError } from '../store/errors.ts';
import type { CreateOutcome } from '../store/plants.ts';
import { authenticateCreate, refuseRole } from './authorization.ts';
import type { CreateTrace, TraceCreate } from './create-trace.ts';
import { refuseBeyondRate } from './rate-limit.ts';
import type { Throttle } from './throttle.ts';

export interface CreatePlantOptions {
  readonly access: Access;
  readonly limiter: RateLimiter;
  readonly queue: CommitQueue;
  readonly bodyBytesMax: number;
  /** For refused callers. */
  readonly throttle: Throttle;
  /** Called with the outcome of each queued plant. `receivedMs` is a `performance.now()`. */
  readonly onOutcome: (
    outcome: CreateOutcome | 'failed',
    receivedMs: number,
    exchange: Exchange,
  ) => void;
  /** Undefined: no traces are exported. */
  readonly traceCreate: TraceCreate | undefined;
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
  exchange.sender = caller.tally;
  const barred = refuseRole(caller);
  if (barred) return options.throttle(() => sendRefusal(exchange, barred));
  // Only after the token: a client without a valid token cannot fill the collector.
  const create = new Create(exchange, options, caller);
  const refusal =
    refuseBeyondRate(caller, options.limiter) ?? refuseContent(head, options.bodyBytesMax);
  if (refusal === undefined) return readBody(exchange, create);
  create.noteRefused(refusal.problem);
  sendRefusal(exchange, refusal);
}

/**
 * A create under way. A class, and itself the entry in the queue: the garbage collector copies
 * everything that lives from request to reply, so this is one object.
 */
class Create implements BodyTaker, WaitingPlant {
  id = 0n;
  name = '';
  tag: string | undefined;
  readonly createdBy: number;
  bytes = 0;
  private readonly exchange: Exchange;
  private readonly options: CreatePlantOptions;
  private readonly tally: Tally;
  private readonly trace: CreateTrace | undefined;
  private readonly receivedMs = performance.now();

  constructor(exchange: Exchange, options: CreatePlantOptions, caller: Caller) {
    this.exchange = exchange;
    this.options = options;
    this.createdBy = caller.id;
    this.tally = caller.tally;
    this.trace = options.traceCreate?.(exchange);
  }

  takeBody(body: Buffer): void {
    this.trace?.noteReceived();
    const plant = parseNewPlant(body);
    if (plant instanceof Refusal) return sendRefusal(this.exchange, plant);
    this.id = plant.id;
    this.name = plant.name;
    this.tag = plant.tag;
    this.bytes = body.length;
    const offer = this.options.queue.offer(this);
    if (offer !== 'queued') return sendRefusal(this.exchange, notTaken(offer));
    this.trace?.noteQueued();
  }

  noteRefused(problem: ProblemName): void {
    this.trace?.noteRefused(problem);
  }

  noteClientClosed(): void {
    this.trace?.noteClientClosed();
  }

  settle(settlement: Settlement, transaction: Transaction | undefined): void {
    const hasFailed = settlement instanceof StoreError;
    const outcome = hasFailed ? 'failed' : settlement;
    this.options.onOutcome(outcome, this.receivedMs, this.exchange);
    this.tally.noteOutcome(outcome);
    this.trace?.noteSettled(transaction, hasFailed ? settlement.failure : undefined);
    catchDefect(this.exchange, () => this.answer(settlement));
  }

  private answer(settlement: Settlement): void {
    switch (settlement) {
      case 'created':
      case 'same':
        // The body has no id. A client that rounds its ids sees here what was stored.
        this.trace?.noteAnswered();
        return sendJson(this.exchange, plantBody(this), `Plant-Id: ${this.id}\r\n`);
      case 'taken':
        return sendRefusal(this.exchange, idTaken(this.id));
      default:
        if (settlement.failure === 'defect') return sendDefect(this.exchange, settlement);
        return sendRefusal(this.exchange, uncertain(settlement));
    }
  }
}

function uncertain(error: StoreError): Refusal {
  return unavailable(
    'The store cannot take writes now. Retry with the same id: that is safe, also if this plant was stored.',
    error,
  );
}

function notTaken(offer: Exclude<Offer, 'queued'>): Refusal {
  if (offer === 'full')
    return new Refusal(
      'overloaded',
      'Too many plants are waiting to be stored. This one was not stored; retry later.',
    );
  return unavailable(
    'The store cannot take writes now. This plant was not stored; retry later.',
    offer,
  );
}

function unavailable(message: string, error: StoreError): Refusal {
  return new Refusal('storeUnavailable', message, undefined, causeOf(error));
}
