/** The HTTP of the peers: Fastify with a schema and a bearer check, as a user would write it. */
import Fastify, { type FastifyReply } from 'fastify';

interface NewPlant {
  id: number;
  name: string;
  tag?: string;
}

interface Plants {
  /** Stores the plant, and returns the reply. */
  create(plant: NewPlant, reply: FastifyReply): Promise<unknown>;
  close(): unknown;
}

const plantFields = { name: { type: 'string' }, tag: { type: 'string' } };
const schema = {
  body: {
    type: 'object',
    required: ['id', 'name'],
    properties: { id: { type: 'integer' }, ...plantFields },
  },
  response: { 200: { type: 'object', properties: plantFields } },
};

/** Listens on a free port and prints its address, until SIGTERM. */
export async function servePlants({ create, close }: Plants): Promise<void> {
  const app = Fastify();
  const authorization = `Bearer ${process.env['PLANT_STORE_TOKEN']}`;
  app.addHook('onRequest', async (request, reply) => {
    if (request.headers.authorization !== authorization) return reply.code(401).send();
  });
  app.post<{ Body: NewPlant }>('/plants', { schema }, (request, reply) =>
    create(request.body, reply),
  );
  app.addHook('onClose', async () => close());

  console.log(await app.listen({ host: '127.0.0.1', port: 0 }));
  process.once('SIGTERM', () => app.close());
}
