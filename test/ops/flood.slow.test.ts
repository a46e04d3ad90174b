import { after, test } from 'node:test';
import { oneThread, startServerOnNewStore } from '../helpers/program.ts';
import { assertAnsweredInFlood, lacksLoopback } from './flood.ts';

/* With half of a request: operator.test.ts. */

const { opsUrl } = await startServerOnNewStore({ after }, ...oneThread);
const head = 'POST /api/session HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';

for (const [what, bytes] of [
  ['that send nothing', ''],
  ['that send half of a sign-in', `${head}Content-Length: 9\r\n\r\n{`],
] as const)
  test(
    `while a client floods the port with connections ${what}, probes are answered`,
    {
      skip: lacksLoopback,
    },
    (t) => assertAnsweredInFlood(t, opsUrl, bytes),
  );
