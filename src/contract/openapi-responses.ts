import { errorWithCode, schemaReference } from './openapi-schemas.ts';
import { type ClientProblem, problems, reasonPhrases } from './problems.ts';

export const headerFields = {
  Allow: text('The methods that the path takes.', 'POST'),
  'Plant-Id': {
    description:
      'The stored `id`, with every digit. Compare it with the `id` that you chose: a ' +
      'JSON library may have rounded the number.',
    required: true,
    schema: { type: 'string', pattern: '^-?[0-9]+$' },
    example: '9223372036854775807',
  },
  'Retry-After': {
    description: 'Seconds to wait before the next try.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
    example: 1,
  },
  RateLimit: text(
    'The creates that are left, and the seconds until there are more ' +
      '(draft-ietf-httpapi-ratelimit-headers).',
    '"token";r=0;t=1',
  ),
  'RateLimit-Policy': text(
    'The creates that the token may send, in how many seconds ' +
      '(draft-ietf-httpapi-ratelimit-headers).',
    '"token";q=100;w=1',
  ),
  'WWW-Authenticate': text(
    'The challenge of RFC 6750 §3.',
    'Bearer realm="plant-store", error="invalid_token"',
  ),
  'X-Request-Id': text('The id of the request in the log of the service.', '5f0c9d2e41b7-3k'),
} as const;

function text(description: string, example: string) {
  return { description, required: true, schema: { type: 'string' }, example };
}

type HeaderField = keyof typeof headerFields;

/** Fields that the service adds to those of the catalogue. */
const addedFields: Readonly<Record<number, readonly HeaderField[]>> = {
  405: ['Allow'],
  429: ['Retry-After', 'RateLimit', 'RateLimit-Policy'],
};

/** Meanings and bodies of 200 and 400 are those of the specification. The rest is the catalogue. */
export function responses() {
  const all: Record<string, unknown> = { '200': plantResponse };
  const rows = Object.entries<ClientProblem>(problems);
  for (const [status, group] of Map.groupBy(rows, ([, { status }]) => status))
    all[status] = errorResponse(status, group);
  return all;
}

const plantResponse = {
  description: 'Plant response',
  headers: headersNamed(['Plant-Id', 'X-Request-Id']),
  content: {
    'application/json': {
      schema: schemaReference('Plant'),
      examples: {
        withTag: { summary: 'A plant with a tag', value: { name: 'Alder', tag: 'Alnus' } },
        withoutTag: { summary: 'A plant without a tag', value: { name: 'Black alder' } },
      },
    },
  },
};

type Row = readonly [name: string, problem: ClientProblem];

function errorResponse(status: number, group: readonly Row[]) {
  return {
    description: status === 400 ? 'Unexpected error' : causes(status, group),
    headers: headersNamed(fieldsOf(status, group)),
    content: {
      'application/json': {
        schema: status === 400 ? schemaReference('Error') : errorWithCode,
        examples: Object.fromEntries(group.map(([name, problem]) => [name, exampleOf(problem)])),
      },
    },
  };
}

function exampleOf({ code, when, remedy, example }: ClientProblem) {
  return { summary: when, description: remedy, value: { error: code, message: example } };
}

function causes(status: number, group: readonly Row[]): string {
  const rows = group.map(([, { code, when }]) => `\`${code}\`: ${when}`);
  return `${reasonPhrases[status]}. ${rows.join(' ')}`;
}

function fieldsOf(status: number, group: readonly Row[]): readonly HeaderField[] {
  const added = addedFields[status] ?? [];
  return (Object.keys(headerFields) as HeaderField[]).filter(
    (name) =>
      name === 'X-Request-Id' ||
      added.includes(name) ||
      group.every(([, { headers }]) => name in headers),
  );
}

function headersNamed(names: readonly HeaderField[]) {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
