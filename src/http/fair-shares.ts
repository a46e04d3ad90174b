interface Held<Owner> {
  readonly owner: Owner;
  readonly amount: number;
}

/**
 * What entries of many owners hold of one bounded thing. An owner may hold as much as is still free
 * (the dynamic thresholds of Choudhury and Hahne, 1998): alone half, beside others less, and a
 * newcomer always something.
 */
export class FairShares<Owner, Entry> {
  private readonly max: number;
  /** In the order in which they began to hold something. */
  private readonly entries = new Map<Entry, Held<Owner>>();
  private readonly amounts = new Map<Owner, number>();
  private total = 0;

  constructor(max: number) {
    this.max = max;
  }

  has(entry: Entry): boolean {
    return this.entries.has(entry);
  }

  /** @param amount of the entry now @returns whether it took more than its owner may hold */
  set(entry: Entry, owner: Owner, amount: number): boolean {
    const before = this.entries.get(entry);
    if (before === undefined && amount === 0) return false;
    if (before !== undefined) this.add(before.owner, -before.amount);
    this.add(owner, amount);
    if (amount === 0) this.entries.delete(entry);
    else this.entries.set(entry, { owner, amount });
    return amount > (before?.amount ?? 0) && this.isExceededBy(owner);
  }

  remove(entry: Entry): void {
    const held = this.entries.get(entry);
    if (held !== undefined) this.set(entry, held.owner, 0);
  }

  private add(owner: Owner, amount: number): void {
    const sum = (this.amounts.get(owner) ?? 0) + amount;
    if (sum === 0) this.amounts.delete(owner);
    else this.amounts.set(owner, sum);
    this.total += amount;
  }

  isExceededBy(owner: Owner): boolean {
    return (this.amounts.get(owner) ?? 0) > this.max - this.total;
  }

  /** What the owner that holds the most has held the longest. */
  oldestOfLargest(): Entry | undefined {
    let largest: Owner | undefined;
    let most = 0;
    for (const [owner, amount] of this.amounts)
      if (amount > most) [largest, most] = [owner, amount];
    for (const [entry, { owner }] of this.entries) if (owner === largest) return entry;
    return undefined;
  }
}
