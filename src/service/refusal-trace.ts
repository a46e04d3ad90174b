import { type ProblemName, problemNames } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import type { RequestTrace, TracedRefusal } from '../ops/recent-requests.ts';

const placesMax = limits.ops.refusalsTraced;
/** `senders[0]`: the name is not known. */
const sendersMax = 2 ** 16;

/**
 * The number, the time, the problem and the sender of the last refusals, in 20 bytes each, in a
 * ring. The memory is taken as the ring fills.
 */
export class RefusalTrace {
  private readonly numbers = new Float64Array(placesMax);
  private readonly times = new Float64Array(placesMax);
  /** Index of the problem, times `sendersMax`, plus index of the sender. */
  private readonly facts = new Uint32Array(placesMax);
  private readonly senders: (string | undefined)[] = [undefined];
  private readonly senderIndexes = new Map<string, number>();
  private made = 0;
  /** The greatest number of a refusal that the ring has lost. */
  private lost = -1;

  /** @param number of the request in its thread @param atMs milliseconds since the epoch */
  note(number: number, atMs: number, problem: ProblemName, sender: string | undefined): void {
    const place = this.made % placesMax;
    if (this.made >= placesMax) this.lost = Math.max(this.lost, this.numbers[place] as number);
    this.made += 1;
    this.numbers[place] = number;
    this.times[place] = atMs;
    this.facts[place] = problemNames.indexOf(problem) * sendersMax + this.indexOf(sender);
  }

  /** Looks at the whole ring: some milliseconds. */
  traceOf(number: number): Omit<RequestTrace, 'isGiven'> {
    let refusal: TracedRefusal | undefined;
    let [before, after] = [-1, -1];
    const numberAt = (place: number) => this.numbers[place] as number;
    const placesUsed = Math.min(this.made, placesMax);
    for (let place = 0; place < placesUsed; place += 1) {
      const other = numberAt(place);
      if (other === number) refusal = this.refusalAt(place);
      else if (other < number && (before < 0 || other > numberAt(before))) before = place;
      else if (other > number && (after < 0 || other < numberAt(after))) after = place;
    }
    return {
      refusal,
      isCertain: number > this.lost,
      afterMs: this.times[before] ?? -Infinity,
      beforeMs: this.times[after] ?? Infinity,
    };
  }

  private refusalAt(place: number): TracedRefusal {
    const facts = this.facts[place] as number;
    return {
      atMs: this.times[place] as number,
      problem: problemNames[Math.floor(facts / sendersMax)] as ProblemName,
      sender: this.senders[facts % sendersMax],
    };
  }

  private indexOf(sender: string | undefined): number {
    if (sender === undefined) return 0;
    const known = this.senderIndexes.get(sender);
    if (known !== undefined) return known;
    if (this.senders.length > limits.ops.sendersTraced) return 0;
    const index = this.senders.push(sender) - 1;
    this.senderIndexes.set(sender, index);
    return index;
  }
}
