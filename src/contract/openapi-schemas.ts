import { type ClientProblem, problems } from './problems.ts';

const plantProperties = {
  name: { type: 'string', description: 'The name of the plant' },
  tag: { type: 'string', description: 'Tag that specifies the type' },
} as const;

const catalogue: readonly ClientProblem[] = Object.values(problems);

const codeList = catalogue.map(({ code, status, when }) => `- \`${code}\` (${status}): ${when}`);

/** None has `additionalProperties`: generators would add a map for other members to each type. */
export const schemas = {
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
  // Not the type of `error`: a client must be able to read the codes of later versions.
  ErrorCode: {
    type: 'integer',
    format: 'int32',
    description: ['The values of `error`. Later versions may add values.', ...codeList].join('\n'),
    enum: catalogue.map(({ code }) => code),
    // Generators take the names and the comments of constants from here.
    'x-enum-varnames': Object.keys(problems).map(constantName),
    'x-enum-descriptions': catalogue.map(({ when }) => when),
  },
} as const;

/** `idTaken` becomes `ID_TAKEN`. */
function constantName(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
}

export function schemaReference(name: keyof typeof schemas) {
  return { $ref: `#/components/schemas/${name}` };
}

/**
 * An Error, whose code ErrorCode describes. `if` alone refuses nothing (JSON Schema 2020-12 Core
 * §10.2.2.1), so later codes are valid, and generators take it for an Error.
 */
export const errorWithCode = {
  allOf: [schemaReference('Error')],
  if: { properties: { error: schemaReference('ErrorCode') } },
};
