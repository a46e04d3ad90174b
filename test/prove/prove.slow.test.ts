import { test } from 'node:test';
import { takesNoCode } from '../helpers/program.ts';
import { assertFindsHarm, assertPasses, assertStops, untilStopped } from './engines.ts';

test('on SQLite, prove kills a loaded service again and again, finds every plant, and leaves nothing behind', (t) =>
  assertPasses(t, 'SQLite', 2));

test(
  'on PostgreSQL, prove finds out when plants are lost, says how many, and ends with 1',
  {
    skip: takesNoCode,
  },
  (t) => assertFindsHarm(t, 'PostgreSQL'),
);

test(
  'on PostgreSQL, SIGTERM while the service creates plants ends prove with 1, and leaves neither data nor a process behind',
  untilStopped,
  (t) => assertStops(t, 'PostgreSQL'),
);
