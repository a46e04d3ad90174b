import { readFileSync } from 'node:fs';

/**
 * Parts of src/, and the parts that each may import. docs/understand/architecture.md shows them. A
 * part that does not say what it uses imports nothing, and every part may import it.
 */
const all = Object.entries(
  JSON.parse(readFileSync(new URL('scripts/architecture.json', import.meta.url), 'utf8')),
);
const common = all.filter(([, { uses }]) => uses === undefined).map(([part]) => part);
const parts = all.map(([part, { uses }]) => ({
  part,
  uses: uses === undefined ? [] : [...namesIn(uses), ...common],
}));

/** The names in a text with a space between two of them. */
function namesIn(text) {
  return text.split(' ').filter(Boolean);
}

/** A pattern for the files of a part, without those of a part inside of it. */
function filesOf(part) {
  if (part.endsWith('.ts')) return `${part.replaceAll('.', '\\.')}$`;
  const inner = parts
    .filter((one) => one.part.startsWith(`${part}/`))
    .map((one) => one.part.slice(part.length + 1))
    .map((name) => (name.endsWith('.ts') ? `${name.replace('.ts', '')}\\.ts$` : `${name}/`));
  return inner.length === 0 ? `${part}/` : `${part}/(?!${inner.join('|')})`;
}

const arrows = parts.map(({ part, uses }) => ({
  name: `${part}-uses-only-what-the-list-says`,
  severity: 'error',
  from: { path: `^src/${filesOf(part)}` },
  to: { path: '^src/', pathNot: `^src/(${[part, ...uses].map(filesOf).join('|')})` },
}));

export default {
  forbidden: [
    ...arrows,
    {
      name: 'every-file-belongs-to-a-part',
      severity: 'error',
      from: {
        path: '^src/',
        pathNot: `^src/(${parts.map(({ part }) => filesOf(part)).join('|')})`,
      },
      to: {},
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'the-page-runs-in-the-browser',
      severity: 'error',
      from: { path: '^src/(ops/console|create/reference)/page/' },
      to: {
        path: '^(src|node:)',
        pathNot:
          '^src/(ops/console/page/|create/reference/page/|contract/(int64|problems)\\.ts$|limits\\.ts$|quantity-text\\.ts$)',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'source-does-not-know-tests',
      severity: 'error',
      from: { path: '^src' },
      to: { path: '^(test|bench|scripts)' },
    },
    {
      name: 'no-unresolved',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^node:' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default', 'types'],
    },
    tsConfig: { fileName: 'tsconfig.json' },
  },
};
