import { type Problem, problems, reasonPhrases } from './problems.ts';

export interface OpenApiOptions {
  /** Starts with a slash and ends without one; empty at the root. */
  readonly basePath: string;
  readonly bodyBytesMax: number;
}

/** Version of the description (specification, "Versioning"), not of the program. */
const version = '1.0.0';

/**
 * The published description, OpenAPI 3.1.0. The specification defines the shapes; everything else
 * comes from the catalogue and the limits.
 */
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
            'Creates a new plant in the store. Sending the same plant again is safe and answers the same.',
          tags: ['plants'],
          requestBody: {
            description: 'The plant to create.',
            required: true,
            content: { 'application/json': { schema: reference('schemas', 'NewPlant'), examples } },
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
            'A token that the operator of the service has handed out, or an access token of an identity provider that the operator has named.',
        },
      },
    },
  };
}

function description(bodyBytesMax: number): string {
  return [
    'A 200 means that the plant is on disk. A retry with the same `id`, `name` and `tag` is always safe.',
    'Any other 2xx is never sent; 4xx means that this request stored nothing; after 5xx, retry with the same `id`.',
    `A body may have at most ${bodyBytesMax} bytes. Its \`id\` is exact over all of int64: use a JSON library that does not round it.`,
    'Every reply has an `X-Request-Id` header. Every error has an Error body with one of these values of `error`:',
    Object.values<Problem>(problems)
      .map(({ code, status, when }) => `- \`${code}\` (${status}): ${when}`)
      .join('\n'),
  ].join('\n\n');
}

const plantProperties = {
  name: { type: 'string', description: 'The name of the plant' },
  tag: { type: 'string', description: 'Tag that specifies the type' },
} as const;

const schemas = {
  Plant: { type: 'object', required: ['name'], properties: plantProperties },
  NewPlant: {
    type: 'object',
    required: ['id', 'name'],
    properties: {
      id: { type: 'integer', format: 'int64', description: 'Identification number of the plant' },
      ...plantProperties,
    },
  },
  Error: {
    type: 'object',
    required: ['error', 'message'],
    properties: {
      error: { type: 'integer', format: 'int32', description: 'Numeric error value' },
      message: { type: 'string', description: 'Error message text' },
    },
  },
} as const;

const examples = {
  withTag: { summary: 'A plant with a tag', value: { id: 1, name: 'Alder', tag: 'Alnus' } },
  withoutTag: { summary: 'A plant without a tag', value: { id: 2, name: 'Black alder' } },
} as const;

const headerFields = {
  Allow: { description: 'The methods that the path takes.', schema: { type: 'string' } },
  'Retry-After': {
    description: 'Seconds to wait before the next try.',
    schema: { type: 'integer', minimum: 0 },
  },
  RateLimit: {
    description:
      'The creates that are left, and the seconds until there are more (draft-ietf-httpapi-ratelimit-headers).',
    schema: { type: 'string' },
    example: '"token";r=0;t=1',
  },
  'RateLimit-Policy': {
    description:
      'The creates that the token may send, in how many seconds (draft-ietf-httpapi-ratelimit-headers).',
    schema: { type: 'string' },
    example: '"token";q=100;w=1',
  },
  'WWW-Authenticate': { description: 'The challenge of RFC 6750 §3.', schema: { type: 'string' } },
} as const;

/** The 200 and 400 are those of the specification, to the letter. The rest is the catalogue. */
function responses() {
  const all: Record<string, unknown> = {
    '200': {
      description: 'Plant response',
      content: { 'application/json': { schema: reference('schemas', 'Plant') } },
    },
  };
  for (const [status, group] of Map.groupBy(
    Object.values<Problem>(problems),
    (problem) => problem.status,
  )) {
    all[status] =
      status === 400
        ? errorResponse('Unexpected error')
        : errorResponse(statusDescription(status, group), headersOf(status, group));
  }
  return all;
}

function errorResponse(text: string, headers?: Record<string, unknown>) {
  return {
    description: text,
    ...(headers && Object.keys(headers).length > 0 ? { headers } : {}),
    content: { 'application/json': { schema: reference('schemas', 'Error') } },
  };
}

function statusDescription(status: number, group: readonly Problem[]): string {
  return `${reasonPhrases[status]}. ${group.map(({ code, when }) => `\`${code}\`: ${when}`).join(' ')}`;
}

function headersOf(status: number, group: readonly Problem[]): Record<string, unknown> {
  const names = new Set(group.flatMap((problem) => Object.keys(problem.headers)));
  if (status === 405) names.add('Allow');
  if (status === 429) for (const name of ['RateLimit', 'RateLimit-Policy']) names.add(name);
  const described = Object.keys(headerFields).filter((name) => names.has(name));
  return Object.fromEntries(described.map((name) => [name, reference('headers', name)]));
}

function reference(kind: 'schemas' | 'headers', name: string) {
  return { $ref: `#/components/${kind}/${name}` };
}
