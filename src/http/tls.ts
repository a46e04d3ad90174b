import { constants } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer, type TlsOptions } from 'node:tls';
import { limits } from '../limits.ts';

export interface TlsMaterial {
  readonly certificate: string;
  readonly key: string;
}

/** Forward secrecy and authenticated encryption only (RFC 9325 §4.2). No session is resumed. */
export function tlsOptions({ certificate, key }: TlsMaterial): TlsOptions {
  return {
    cert: certificate,
    key,
    minVersion: 'TLSv1.2',
    ciphers,
    ecdhCurve: groups,
    honorCipherOrder: true,
    secureOptions: constants.SSL_OP_NO_TICKET | constants.SSL_OP_NO_RENEGOTIATION,
  };
}

/** The first is hybrid: a quantum computer alone cannot break it. */
const groups = 'X25519MLKEM768:X25519:prime256v1:secp384r1';

const ciphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':');

/** The type of the record that begins a handshake (RFC 8446 §5.1). */
const handshakeRecord = 22;

interface Handshake {
  /** The connection below and the encrypted one have the same. */
  readonly ends: string;
  readonly socket: Socket;
  readonly beganMs: number;
}

/**
 * Encrypts connections. A handshake must end within `limits.http.handshakeMs`, and at most
 * `limits.http.handshakesMax` are under way: slow handshakes do not keep others away.
 *
 * @param onSecure gets each connection after its handshake, and the connection below
 * @param onPlain gets each connection on which the client does not speak TLS
 * @param onHandshakes gets each change of the number of handshakes that are under way
 */
export function openTlsLayer(
  material: TlsMaterial,
  onSecure: (socket: Socket, below: Socket) => void,
  onPlain: (socket: Socket) => void,
  onHandshakes: (change: 1 | -1) => void,
) {
  const handshakes = new Map<string, Handshake>();
  // This server does not listen. It gets each connection after a look at its first byte.
  const server = createServer({ ...tlsOptions(material), ALPNProtocols: ['http/1.1'] });
  server.on('tlsClientError', (_, socket) => socket.destroy());
  server.on('secureConnection', (socket) => {
    const handshake = handshakes.get(endsOf(socket));
    if (handshake === undefined) return void socket.destroy();
    forget(handshake);
    onSecure(socket, handshake.socket);
  });

  function isUnderWay(handshake: Handshake): boolean {
    return handshakes.get(handshake.ends) === handshake;
  }

  function forget(handshake: Handshake): void {
    if (!isUnderWay(handshake)) return;
    handshakes.delete(handshake.ends);
    onHandshakes(-1);
  }

  function end(handshake: Handshake): void {
    forget(handshake);
    handshake.socket.destroy();
  }

  function begin(handshake: Handshake): void {
    const { socket } = handshake;
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return void socket.once('readable', () => begin(handshake));
    socket.unshift(chunk);
    if (chunk[0] === handshakeRecord) return void server.emit('connection', socket);
    forget(handshake);
    onPlain(socket);
    socket.resume();
  }

  /** @returns whether a handshake was under way */
  function endOldest(): boolean {
    const [oldest] = handshakes.values();
    if (oldest) end(oldest);
    return oldest !== undefined;
  }

  return {
    endOldest,
    accept(socket: Socket): void {
      const handshake = { ends: endsOf(socket), socket, beganMs: performance.now() };
      if (handshakes.size >= limits.http.handshakesMax) endOldest();
      // A client that was reset may come again before its end is known. Sockets that were reset
      // before have no addresses, and so one name.
      const before = handshakes.get(handshake.ends);
      if (before) end(before);
      handshakes.set(handshake.ends, handshake);
      onHandshakes(1);
      socket.on('error', () => socket.destroy());
      socket.once('end', () => isUnderWay(handshake) && socket.destroy());
      socket.once('close', () => forget(handshake));
      begin(handshake);
    },
    /** Connections from now on get the new certificate. Open connections keep theirs. */
    renew: (newest: TlsMaterial) => server.setSecureContext(tlsOptions(newest)),
    /** Ends handshakes that take too long. To be called every `limits.http.expiryCheckMs`. */
    expire(nowMs: number): void {
      for (const { socket, beganMs } of handshakes.values())
        if (nowMs - beganMs > limits.http.handshakeMs) socket.destroy();
    },
    endHandshakes(): void {
      for (const { socket } of handshakes.values()) socket.destroy();
    },
  };
}

function endsOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}
