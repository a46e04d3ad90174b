import { Ajv2020 } from 'ajv/dist/2020.js';

const ajv = new Ajv2020({ strict: true, allErrors: true });
ajv.addFormat('int32', { type: 'number', validate: (value) => (value | 0) === value });
// Of an integer past 2^53 only its neighbour arrives here; it is the bounds that are checked.
ajv.addFormat('int64', {
  type: 'number',
  validate: (value) => Number.isInteger(value) && value >= -(2 ** 63) && value <= 2 ** 63,
});

/**
 * A check of values against the schema that `reference` (`#/…`) names in the document; what it
 * returns says what is wrong.
 */
export function schemaCheck(document: object, reference: string): (value: unknown) => string[] {
  const path = reference.split('/').slice(1);
  const schema = path.reduce<unknown>(
    (node, name) => (node as Record<string, unknown>)[name],
    document,
  );
  const validate = ajv.compile(schema as object);
  return (value) =>
    validate(value)
      ? []
      : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}
