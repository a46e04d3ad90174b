import './exact-ids.js';
import { client } from './hey-api/client.gen.js';
import { createPlant, type ErrorCode } from './hey-api/index.js';

const { URL: baseUrl, TOKEN } = process.env;
client.setConfig({ baseUrl, auth: TOKEN });
// The generated type is number, which would round the id.
const id = 9_223_372_036_854_775_807n as unknown as number;

const created = await createPlant({ body: { id, name: 'Oak' } });
console.log('Plant-Id', created.response?.headers.get('Plant-Id'));

const { error } = await createPlant({ body: { id, name: 'Elm' } });
const idTaken: ErrorCode = 40004;
if (error?.error === idTaken) console.log('ID_TAKEN', error.message);
