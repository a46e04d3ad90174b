/** An entry, and its place among all entries that were ever added: 1 is the first. */
export interface Placed<Entry> {
  readonly place: number;
  readonly entry: Entry;
}

/** A linked list: the first entry of an array of 100 takes ten times as long to remove. */
interface Owned<Entry> {
  oldest: Linked<Entry> | undefined;
  newest: Linked<Entry> | undefined;
  count: number;
}

interface Linked<Entry> extends Placed<Entry> {
  next: Linked<Entry> | undefined;
}

/**
 * The last entries, shared fairly. A full log drops the oldest entry of an owner that has more than
 * an equal share: no owner makes the log forget what the others have within their shares.
 */
export class FairLog<Entry> {
  /** Entries that were added, or skipped, since the start. */
  made = 0;
  private kept = 0;
  private readonly max: number;
  private readonly byOwner = new Map<string, Owned<Entry>>();

  constructor(max: number) {
    this.max = max;
  }

  add(owner: string, entry: Entry): void {
    this.made += 1;
    this.kept += 1;
    const own = this.ownedBy(owner);
    const added = { place: this.made, entry, next: undefined };
    if (own.newest) own.newest.next = added;
    else own.oldest = added;
    own.newest = added;
    own.count += 1;
    if (this.kept > this.max) this.dropOne(own);
  }

  /** Counts entries that have been forgotten before they came here. */
  skip(count: number): void {
    this.made += count;
  }

  /** The entries after the first `place`, as far as they are kept, in their order. */
  after(place: number): Placed<Entry>[] {
    const told: Placed<Entry>[] = [];
    for (const { oldest } of this.byOwner.values())
      for (let one = oldest; one; one = one.next)
        if (one.place > place) told.push({ place: one.place, entry: one.entry });
    return told.sort((one, other) => one.place - other.place);
  }

  private ownedBy(owner: string): Owned<Entry> {
    const known = this.byOwner.get(owner);
    if (known) return known;
    const own = { oldest: undefined, newest: undefined, count: 0 };
    this.byOwner.set(owner, own);
    return own;
  }

  /** In a flood of one owner, its own entries make room: the others need not be looked at. */
  private dropOne(own: Owned<Entry>): void {
    const share = this.max / this.byOwner.size;
    this.kept -= 1;
    if (own.count > Math.max(1, share)) return dropOldest(own);
    // All shares together have fewer entries than the log.
    for (const [owner, owned] of this.byOwner) {
      if (owned.count <= share) continue;
      if (owned.count === 1) this.byOwner.delete(owner);
      return dropOldest(owned);
    }
  }
}

function dropOldest(owned: Owned<unknown>): void {
  const { oldest } = owned;
  if (oldest === undefined) return;
  owned.oldest = oldest.next;
  owned.count -= 1;
  // A dropped entry in the old generation would keep all later ones until the next full collection.
  oldest.next = undefined;
}
