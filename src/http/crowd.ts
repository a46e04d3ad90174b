import type { SharedCounter } from '../threads/shared-counter.ts';
import { FairShares } from './fair-shares.ts';

/** A connection, as the other connections of its listener see it. */
export interface Member {
  /** Of the client, by `networkOf`. */
  readonly network: string;
  /** Whose request the connection has last carried. Undefined for a stranger. */
  readonly account: number | undefined;
  /** A whole request waits for its answer. */
  readonly awaitsReply: boolean;
  /** No request has arrived, in part or whole, and no reply is unsent. */
  readonly isIdle: boolean;
  /** When a connection has been idle for too long. */
  readonly idleEndMs: number;
  /** Memory of what has arrived in part, or waits to be sent. */
  readonly heldBytes: number;
  /** Ends the connection. A request that has arrived in part is refused with 50300. */
  giveWay(): void;
  destroy(): void;
}

export interface CrowdOptions {
  /** Of all threads. `strangers` are those of whom no whole request waits, and handshakes of TLS. */
  readonly counters: Readonly<Record<'connections' | 'lingering' | 'strangers', SharedCounter>>;
  readonly connectionsMax: number;
  /** Threads that share the connections. */
  readonly threadCount: number;
  /** Memory that the connections of all strangers hold. */
  readonly strangersBytesMax: number;
  /** Memory that all other connections hold. */
  readonly clientsBytesMax: number;
  /** Asks the listeners of the other threads to call `endStranger`. */
  readonly askForRoom?: (() => void) | undefined;
}

/**
 * The connections of a listener, which share its bounds. Where one is reached, a stranger gives
 * way: a connection that has carried no valid token. Of all strangers, it is the one that has sent
 * no request for the longest time, of the network with the most.
 *
 * A connection is counted from `enter` to `leave`, and is a member from `add` to `remove`. In
 * between, `linger` or `end` says that the member is no longer open.
 */
export class Crowd<M extends Member> {
  readonly members = new Set<M>();
  private readonly strangers = new FairShares<string, M>(Number.POSITIVE_INFINITY);
  private readonly strangersToAnswer = new FairShares<string, M>(Number.POSITIVE_INFINITY);
  private readonly lingering = new Set<M>();
  private readonly heldByStrangers: FairShares<string, M>;
  private readonly heldByClients: FairShares<number, M>;
  private readonly options: CrowdOptions;
  private readonly endHandshake: () => boolean;
  /** How many connections of all threads may linger, or wait until another thread makes room. */
  private readonly spare: number;

  /** @param endHandshake ends the oldest handshake of TLS; returns whether there was one */
  constructor(options: CrowdOptions, endHandshake: () => boolean) {
    const { connectionsMax, strangersBytesMax, clientsBytesMax } = options;
    this.options = options;
    this.endHandshake = endHandshake;
    this.spare = Math.floor(connectionsMax / 32);
    this.heldByStrangers = new FairShares(strangersBytesMax);
    this.heldByClients = new FairShares(clientsBytesMax);
  }

  /** Counts a new connection, until `leave`. @returns whether there is room for it */
  enter(): boolean {
    this.options.counters.connections.add(1, Number.POSITIVE_INFINITY);
    this.makeRoom();
    if (this.excess <= this.spare) return true;
    this.leave();
    return false;
  }

  leave(): void {
    this.options.counters.connections.subtract(1);
  }

  private makeRoom(): void {
    const { strangers } = this.options.counters;
    if (this.excess <= 0 || this.endStranger()) return;
    if (strangers.count() > 0) return this.options.askForRoom?.();
    (this.strangersToAnswer.oldestOfLargest() ?? this.idlest() ?? this.unfinished())?.giveWay();
  }

  /** Open connections that are too many. */
  private get excess(): number {
    const { connections, lingering } = this.options.counters;
    return connections.count() - lingering.count() + 2 * this.spare - this.options.connectionsMax;
  }

  /** Ends a stranger or else a handshake, if connections are too many. @returns whether it has */
  endStranger(): boolean {
    if (this.excess <= 0) return false;
    const stranger = this.strangers.oldestOfLargest();
    stranger?.giveWay();
    return stranger !== undefined || this.endHandshake();
  }

  private idlest(): M | undefined {
    let idlest: M | undefined;
    let endMs = Number.POSITIVE_INFINITY;
    for (const member of this.members)
      if (member.isIdle && member.idleEndMs < endMs) [idlest, endMs] = [member, member.idleEndMs];
    return idlest;
  }

  /** The oldest whose request has arrived in part, of the account with the most of these. */
  private unfinished(): M | undefined {
    const found = new FairShares<number | undefined, M>(Number.POSITIVE_INFINITY);
    for (const member of this.members)
      if (!member.awaitsReply && !member.isIdle) found.set(member, member.account, 1);
    return found.oldestOfLargest();
  }

  add(member: M): void {
    this.members.add(member);
    this.update(member);
  }

  /** To be called after each change of what the member shows. */
  update(member: M): void {
    if (member.account === undefined)
      this.placeStranger(member, member.awaitsReply ? 'to answer' : 'waited for');
    this.hold(member);
  }

  private hold(member: M): void {
    const { account, network, heldBytes } = member;
    if (account === undefined) this.share(this.heldByStrangers, member, network, heldBytes);
    else this.share(this.heldByClients, member, account, heldBytes);
  }

  private share<Owner>(shares: FairShares<Owner, M>, member: M, owner: Owner, bytes: number): void {
    let isExceeded = shares.set(member, owner, bytes);
    while (isExceeded) {
      const oldest = shares.oldestOfLargest() as M;
      shares.remove(oldest);
      oldest.giveWay();
      isExceeded = shares.isExceededBy(owner);
    }
  }

  private placeStranger(member: M, state: 'to answer' | 'waited for' | 'gone'): void {
    const { strangers } = this.options.counters;
    const [before, after] = [this.strangers.has(member) ? 1 : 0, state === 'waited for' ? 1 : 0];
    if (before !== after) strangers.add(after - before, Number.POSITIVE_INFINITY);
    this.strangers.set(member, member.network, after);
    this.strangersToAnswer.set(member, member.network, state === 'to answer' ? 1 : 0);
  }

  /** A stranger that sends a request goes to the end of the line. */
  touch(member: M): void {
    if (member.account === undefined) this.leaveStrangers(member);
  }

  /** At the first request with a valid token, for good; at other requests, until `update`. */
  leaveStrangers(member: M): void {
    this.placeStranger(member, 'gone');
    this.heldByStrangers.remove(member);
  }

  /** The connection of the member is no longer open, and is about to be closed. */
  end(member: M): void {
    this.forget(member);
    this.options.counters.lingering.add(1, Number.POSITIVE_INFINITY);
  }

  /** The member ends, and waits for the end of its client. */
  linger(member: M): void {
    this.end(member);
    this.hold(member);
    this.lingering.add(member);
    const [oldest] = this.lingering;
    if (this.lingering.size <= this.spare / this.options.threadCount) return;
    this.lingering.delete(oldest as M);
    oldest?.destroy();
  }

  private forget(member: M): void {
    this.leaveStrangers(member);
    this.heldByClients.remove(member);
  }

  remove(member: M, hasLingered: boolean): void {
    this.forget(member);
    this.members.delete(member);
    this.lingering.delete(member);
    if (hasLingered) this.options.counters.lingering.subtract(1);
  }
}

/** An IPv4 address, or the first 64 bits of an IPv6 address: one client may have all the rest. */
export function networkOf(address: string): string {
  const plain = address.replace(/^::ffff:(?=[0-9.]+$)/, '');
  if (!plain.includes(':')) return plain;
  const [before = [], after = []] = plain
    .split('::')
    .map((part) => part.split(':').filter(Boolean));
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => '0');
  return [...before, ...zeros, ...after].slice(0, 4).join(':');
}
