/**
 * A socket that answers every packet with fixed bytes and parses nothing. No HTTP service in Node
 * can be quicker, so the rate against it is the ceiling of the load generator.
 */
import { type AddressInfo, createServer } from 'node:net';
import { plantBody } from '../plant.ts';

const response = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${plantBody.length}\r\n\r\n${plantBody}`,
);

const server = createServer({ noDelay: true }, (socket) => {
  socket.on('data', () => socket.write(response));
  socket.on('error', () => socket.destroy());
});

server.listen(0, '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once('SIGTERM', () => server.close());
