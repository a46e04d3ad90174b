import './exact-ids.js';
import { createPlant, ErrorCode } from './orval/plants.js';

const options = { headers: { Authorization: `Bearer ${process.env.TOKEN}` } };
const id = 9_223_372_036_854_775_807n;

const created = await createPlant({ id, name: 'Oak' }, options);
console.log('Plant-Id', created.headers.get('Plant-Id'));

const refused = await createPlant({ id, name: 'Elm' }, options);
if (refused.status === 400 && refused.data.error === ErrorCode.ID_TAKEN)
  console.log('ID_TAKEN', refused.data.message);
