import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { limits } from '../limits.ts';
import type { SharedCounter } from '../shared-counter.ts';
import type { Connection, Exchange, ListenerState } from './exchange.ts';

/** What all listeners of the process hold together. */
export interface HeldByConnections {
  readonly connections: SharedCounter;
  /** Requests that have come on a connection before the reply to the one before them was sent. */
  readonly pipelinedRequests: SharedCounter;
}

/** The open connections of a listener, and the bounds on what they hold. */
export function trackConnections(listener: ListenerState, held: HeldByConnections, connectionsMax: number) {
  const connections = new Map<Duplex, Connection>();

  /** @returns false if there are too many already */
  function open(socket: Socket): boolean {
    if (!held.connections.add(1, connectionsMax)) return false;
    const connection: Connection = {
      listener,
      unanswered: 0,
      last: undefined,
      final: undefined,
      paused: false,
      refused: false,
      line: undefined,
    };
    connections.set(socket, connection);
    // With this Node closes a connection after its last reply.
    socket.destroySoon = () => linger(socket);
    // Node resumes reading with each body that it hands over.
    socket.on('resume', () => connection.paused && socket.pause());
    socket.once('close', () => {
      connections.delete(socket);
      held.connections.take(1);
      if (connection.unanswered > 1) held.pipelinedRequests.take(connection.unanswered - 1);
      // Replies that were still to come end later, or never.
      connection.unanswered = 0;
    });
    return true;
  }

  /** Takes in a request. @returns false if there are too many before it */
  function begin(exchange: Exchange): boolean {
    const { connection, request, response } = exchange;
    if (connection.unanswered >= limits.pipelineMax) return false;
    if (connection.unanswered > 0 && !held.pipelinedRequests.add(1, limits.pipelinedInAllMax)) return false;
    connection.unanswered += 1;
    connection.last = exchange;
    response.on('close', () => end(exchange));
    if (connection.unanswered >= limits.pipelineReadMax) {
      // Node alone would go on reading while replies are due, and let one connection have the thread for seconds.
      connection.paused = true;
      request.socket.pause();
    }
    return true;
  }

  /** Its reply has been sent. */
  function end({ connection, request: { socket } }: Exchange): void {
    if (connection.unanswered === 0) return;
    connection.unanswered -= 1;
    if (connection.paused && connection.unanswered < limits.pipelineReadMax) {
      connection.paused = false;
      socket.resume();
    }
    if (connection.unanswered > 0) return held.pipelinedRequests.take(1);
    connection.last = undefined;
    // A reply that was written before the service began to stop, and waited for its turn, has not said that it is the last.
    if (listener.phase === 'refusing') socket.destroySoon();
  }

  return { open, begin, of: (socket: Duplex) => connections.get(socket) };
}

/** Ends the connection, but reads on for a moment: a client that is still sending would be reset before it has read the reply. */
export function linger(socket: Duplex): void {
  socket.end();
  socket.resume();
  const timer = setTimeout(() => socket.destroy(), limits.lingerMs);
  socket.once('end', () => socket.destroy());
  socket.once('close', () => clearTimeout(timer));
}
