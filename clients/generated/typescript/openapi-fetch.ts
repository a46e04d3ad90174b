import './exact-ids.js';
import createClient from 'openapi-fetch';
import type { components, paths } from './openapi-typescript/schema.js';

const { URL: baseUrl, TOKEN } = process.env;
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${TOKEN}` } });
// The generated type is number, which would round the id.
const id = 9_223_372_036_854_775_807n as unknown as number;

const created = await client.POST('/plants', { body: { id, name: 'Oak' } });
console.log('Plant-Id', created.response.headers.get('Plant-Id'));

const { error } = await client.POST('/plants', { body: { id, name: 'Elm' } });
const idTaken: components['schemas']['ErrorCode'] = 40004;
if (error?.error === idTaken) console.log('ID_TAKEN', error.message);
