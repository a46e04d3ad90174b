import { numberText } from '../quantity-text.ts';
import { headerFields, responses } from './openapi-responses.ts';
import { schemaReference, schemas } from './openapi-schemas.ts';

export interface OpenApiOptions {
  readonly basePath: string;
  readonly bodyBytesMax: number;
}

/** Version of the description (specification, "Versioning"), not of the program. */
const version = '1.0.0';

/** OpenAPI 3.1.0: the shapes of the specification, and the rest of the catalogue and limits. */
export function openApiDocument({ basePath, bodyBytesMax }: OpenApiOptions) {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Plant Store',
      version,
      summary: 'A store of plants with one operation: creating a plant.',
      description: description(bodyBytesMax),
      contact: { name: 'Plant Store' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      {
        url: basePath === '' ? '/' : basePath,
        description: 'The service that serves this document.',
      },
    ],
    tags: [{ name: 'plants', description: 'The plants in the store.' }],
    security: [{ bearerAuth: [] }],
    paths: {
      '/plants': {
        post: {
          operationId: 'createPlant',
          summary: 'Create a plant',
          description:
            'Creates a new plant in the store. Sending the same plant again is safe and ' +
            'answers the same.',
          tags: ['plants'],
          requestBody: {
            description: 'The plant to create.',
            required: true,
            content: { 'application/json': { schema: schemaReference('NewPlant'), examples } },
          },
          responses: responses(),
        },
      },
    },
    components: {
      schemas,
      headers: headerFields,
      securitySchemes: {
        bearerAuth: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'opaque, or JWT (RFC 9068)',
          description:
            'A token that the operator of the service has handed out, or an access token ' +
            'of an identity provider that the operator has named.',
        },
      },
    },
  };
}

const examples = {
  withTag: { summary: 'A plant with a tag', value: { id: 1, name: 'Alder', tag: 'Alnus' } },
  withoutTag: { summary: 'A plant without a tag', value: { id: 2, name: 'Black alder' } },
} as const;

function description(bodyBytesMax: number): string {
  return [
    'A 200 means that the plant is on disk. A retry with the same `id`, `name` and `tag` ' +
      'is always safe.',
    'Any other 2xx is never sent; 4xx means that this request stored nothing; after 5xx, ' +
      'retry with the same `id`.',
    `A body may have at most ${numberText(bodyBytesMax)} bytes. Its \`id\` is exact over all of ` +
      'int64: use a JSON library that does not round it. Other members are ignored.',
    'Every reply has an `X-Request-Id` header. Every error has an Error body, and ' +
      '`ErrorCode` lists the values of its `error`.',
  ].join('\n\n');
}
