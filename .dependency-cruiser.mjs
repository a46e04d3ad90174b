import { readFileSync } from 'node:fs';

/** Parts of src/, and the parts that each may import. docs/understand/architecture.md shows them. */
const parts = Object.entries(
  JSON.parse(readFileSync(new URL('scripts/architecture.json', import.meta.url), 'utf8')),
).map(([part, { uses }]) => ({ part, uses: namesIn(uses) }));

/** The names in a text with a space between two of them. */
function namesIn(text) {
  return text.split(' ').filter(Boolean);
}

/** A pattern for the files of a part, without those of a part inside of it. */
function filesOf(part) {
  if (part.endsWith('.ts')) return `${part.replaceAll('.', '\\.')}$`;
  const inner = parts
    .filter((one) => one.part.startsWith(`${part}/`))
    .map((one) => one.part.slice(part.length + 1));
  return inner.length === 0 ? `${part}/` : `${part}/(?!${inner.join('/|')}/)`;
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
      from: { path: '^src/(ops/console|api/reference)/page/' },
      to: {
        path: '^(src|node:)',
        pathNot:
          '^src/(ops/console/page/|api/reference/page/|contract/(int64|problems)\\.ts$|limits\\.ts$|quantity-text\\.ts$)',
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
