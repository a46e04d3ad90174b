import assert from 'node:assert/strict';
import { Socket } from 'node:net';
import { before, test } from 'node:test';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { openApiDocument } from '../../src/contract/openapi.ts';
import { type ClientProblem, type Problem, problems } from '../../src/contract/problems.ts';
import { limits } from '../../src/limits.ts';
import { schemaCheck } from './schema-check.ts';

const document = openApiDocument('', limits.http.bodyBytesMax);
const operation = document.paths['/plants'].post;
const responses = operation.responses as Readonly<Record<string, DescribedResponse>>;

interface DescribedResponse {
  readonly description: string;
  readonly headers: Readonly<Record<string, object>>;
  readonly content: Readonly<Record<string, DescribedContent>>;
}
interface DescribedContent {
  readonly schema: object;
  readonly examples: Readonly<Record<string, { readonly value: object }>>;
}

// The tables of the specification, as they are to stand in the document.
const texts = {
  name: { type: 'string', description: 'The name of the plant' },
  tag: { type: 'string', description: 'Tag that specifies the type' },
};
const schemas = {
  Plant: { type: 'object', required: ['name'], properties: texts },
  NewPlant: {
    type: 'object',
    required: ['id', 'name'],
    properties: {
      id: { type: 'integer', format: 'int64', description: 'Identification number of the plant' },
      ...texts,
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
};
const plantContent = { 'application/json': { $ref: '#/components/schemas/Plant' } };
const errorContent = { 'application/json': { $ref: '#/components/schemas/Error' } };
const statuses = [200, 400, 401, 403, 404, 405, 408, 413, 415, 417, 429, 431, 500, 503, 505];

before(() => {
  // The linter knows how to fetch schemas and references; here everything must come from this
  // machine.
  Socket.prototype.connect = () => assert.fail('the linter wants to use the network');
  globalThis.fetch = () => assert.fail('the linter wants to use the network');
});

test('the description is OpenAPI 3.1.0, version 1.0.0, under MIT, and asks for a bearer token', () => {
  const { openapi, info, components, security } = document;
  assert.deepEqual([openapi, info.version], ['3.1.0', '1.0.0']);
  assert.deepEqual(info.license, { name: 'MIT', identifier: 'MIT' });
  const { description: _text, ...bearerAuth } = components.securitySchemes.bearerAuth;
  const bearerFormat = 'opaque, or JWT (RFC 9068)';
  assert.deepEqual(bearerAuth, { type: 'http', scheme: 'bearer', bearerFormat });
  assert.deepEqual(Object.keys(components.securitySchemes), ['bearerAuth']);
  assert.deepEqual(security, [{ bearerAuth: [] }]);
});

test('the only operation is POST /plants, without parameters, for a NewPlant in JSON', () => {
  assert.deepEqual(Object.keys(document.paths), ['/plants']);
  assert.deepEqual(Object.keys(document.paths['/plants']), ['post']);
  for (const name of ['parameters', 'security']) assert.equal(name in operation, false);
  assert.equal('webhooks' in document, false);
  const { required, content } = operation.requestBody;
  assert.equal(required, true);
  assert.deepEqual(Object.keys(content), ['application/json']);
  assert.deepEqual(content['application/json'].schema, { $ref: '#/components/schemas/NewPlant' });
});

test('the schemas are those of the specification, and no other but the list of codes', () => {
  const { ErrorCode: _codes, ...others } = document.components.schemas;
  assert.deepEqual(others, schemas);
});

test('200 and 400 are those of the specification, to the letter, and every other reply has its Error', () => {
  assert.equal(responses['200']?.description, 'Plant response');
  assert.deepEqual(schemasOf('200'), plantContent);
  assert.equal(responses['400']?.description, 'Unexpected error');
  assert.deepEqual(schemasOf('400'), errorContent);
  for (const status of statuses.slice(2)) {
    const { allOf } = schemasOf(`${status}`)['application/json'] as { readonly allOf: object[] };
    assert.deepEqual(allOf, [errorContent['application/json']]);
  }
});

test('every status that the service can send is listed, once, and no other', () => {
  assert.deepEqual(Object.keys(responses).map(Number), statuses);
  const used = [...new Set([200, ...Object.values<Problem>(problems).map(({ status }) => status)])];
  assert.deepEqual(used, statuses);
});

function schemasOf(status: string) {
  const content = Object.entries(responses[status]?.content ?? {});
  return Object.fromEntries(content.map(([type, { schema }]) => [type, schema]));
}

test('each error has an example, which is an Error with the code, and the remedy', () => {
  const isError = schemaCheck(document, '#/components/schemas/Error');
  const examples = Object.values(responses)
    .slice(1)
    .flatMap(({ content }) => Object.entries(content['application/json']?.examples ?? {}));
  assert.deepEqual(
    examples,
    Object.entries<ClientProblem>(problems).map(([name, { code, when, remedy, example }]) => [
      name,
      { summary: when, description: remedy, value: { error: code, message: example } },
    ]),
  );
  for (const [name, { value }] of examples) assert.deepEqual(isError(value), [], name);
});

test('tools can read the codes, with a name and a meaning for each', () => {
  const { ErrorCode: codes } = document.components.schemas;
  const catalogue = Object.values<Problem>(problems);
  assert.deepEqual([codes.type, codes.format], ['integer', 'int32']);
  const listed = catalogue.map(({ code }) => code);
  assert.deepEqual(codes.enum, listed);
  const meanings = catalogue.map(({ when }) => when);
  assert.deepEqual(codes['x-enum-descriptions'], meanings);
  const names = codes['x-enum-varnames'];
  assert.equal(new Set(names).size, codes.enum.length);
  assert.equal(names[codes.enum.indexOf(40004)], 'ID_TAKEN');
  for (const name of names) assert.match(name, /^[A-Z][A-Z0-9_]*$/);
});

test('the header fields that a status brings are described, with an example', () => {
  const described = Object.entries(responses).map(([status, { headers }]) => [
    Number(status),
    Object.keys(headers),
  ]);
  const ownFields: Readonly<Record<number, readonly string[]>> = {
    200: ['Plant-Id'],
    401: ['WWW-Authenticate'],
    403: ['WWW-Authenticate'],
    405: ['Allow'],
    429: ['Retry-After', 'RateLimit', 'RateLimit-Policy'],
    503: ['Retry-After'],
  };
  assert.deepEqual(
    described,
    statuses.map((status) => [status, [...(ownFields[status] ?? []), 'X-Request-Id']]),
  );
  for (const [name, { example, schema }] of Object.entries(document.components.headers))
    assert.equal(typeof example, schema.type === 'integer' ? 'number' : 'string', name);
});

test("Redocly's recommended rules have nothing to say, below any base path", async () => {
  const config = await createConfig({ extends: ['recommended'] });
  for (const basePath of ['', '/store/v1']) {
    const served = openApiDocument(basePath, limits.http.bodyBytesMax);
    const source = JSON.stringify(served);
    assert.deepEqual(await lintFromString({ source, absoluteRef: '/openapi.json', config }), []);
  }
});
