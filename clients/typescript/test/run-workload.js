import process from 'node:process';
import { createThroughFaults } from './workload.js';

// Arguments: the module of the client, and the options of the workload as JSON.
const [, , client, options] = process.argv;
const write = (line) => new Promise((resolve) => process.stdout.write(`${line}\n`, resolve));
await createThroughFaults(await import(client), JSON.parse(options), write);
