/**
 * Writes the parts of the documentation that follow from the code: `npm run docs`. With `--check`
 * it writes nothing and fails if a file is not what it should be.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from '../src/cli/command.ts';
import { loadCommands } from '../src/cli/commands.ts';
import { variableOf } from '../src/config/command-line.ts';
import { type FlagName, flags } from '../src/config/flags.ts';
import { openApiDocument } from '../src/contract/openapi.ts';
import { operatorProblems } from '../src/contract/operator-problems.ts';
import { type Problem, problems } from '../src/contract/problems.ts';
import { limits } from '../src/limits.ts';
import architecture from './architecture.json' with { type: 'json' };

const folder = join(import.meta.dirname, '../docs');

/**
 * A part of `src/`, what is in it, and which others it may import: `depcruise` holds the code to
 * that.
 */
type Part = (typeof architecture)[number];

const generated: Record<string, string> = {
  'architecture.md': architecturePage(architecture),
  'openapi.json': `${JSON.stringify(openApiDocument({ basePath: '', bodyBytesMax: limits.http.bodyBytesMax }), null, 2)}\n`,
  'errors.md': errorsPage(),
  'configuration.md': configurationPage(await loadCommands()),
};

const isCheck = process.argv.includes('--check');
for (const [name, content] of Object.entries(generated)) {
  const path = join(folder, name);
  if (!isCheck) writeFileSync(path, content);
  else if (readFileSync(path, 'utf8') !== content) {
    console.error(`docs/${name} is out of date; run: npm run docs`);
    process.exitCode = 1;
  }
}

/** The page as it is, with the picture and the table of the parts as they are now. */
function architecturePage(parts: readonly Part[]): string {
  const page = readFileSync(join(folder, 'architecture.md'), 'utf8');
  const [start, end] = [
    '<!-- The parts: generated from scripts/architecture.json by "npm run docs". -->\n',
    '<!-- End of the parts. -->',
  ];
  const [before, rest = ''] = page.split(start);
  const rows = parts.map(
    ({ part, holds }) => `| \`src/${part}${part.endsWith('.ts') ? '' : '/'}\` | ${holds} |`,
  );
  const table = ['| part | what is in it |', '| --- | --- |', ...rows].join('\n');
  return `${before}${start}\n${picture(parts)}\n\n${table}\n\n${end}${rest.split(end)[1]}`;
}

/**
 * Folders only: an arrow that follows from others is left out, and so are the files that most parts
 * use.
 */
function picture(parts: readonly Part[]): string {
  const isDrawn = (part: string) =>
    !part.endsWith('.ts') || part === 'main.ts' || part === 'stores.ts';
  const usesOf = new Map(
    parts.filter(({ part }) => isDrawn(part)).map(({ part, uses }) => [part, uses.filter(isDrawn)]),
  );
  const reaches = (from: string, to: string): boolean =>
    (usesOf.get(from) ?? []).some((next) => next === to || reaches(next, to));
  const arrows = [...usesOf].flatMap(([part, uses]) => {
    const direct = uses.filter(
      (one) => !uses.some((other) => other !== one && reaches(other, one)),
    );
    return direct.map((one) => `  ${part} --> ${one}`);
  });
  return ['```mermaid', 'flowchart TD', ...arrows, '```'].join('\n');
}

function errorsPage(): string {
  return `# Errors

<!-- Generated from src/contract/problems.ts and operator-problems.ts by "npm run docs". -->

Every error reply, whatever its status and whoever found it, has \`Content-Type: application/json\`, an \`X-Request-Id\`
header and the body \`{"error": CODE, "message": "what is wrong, where, and what to do"}\`. Codes are never reused and never renumbered.

## Clients

- 2xx: stored and durable.
- 4xx: this request has stored nothing.
- 5xx, a reset or a time-out: not known; stored at most once. Retry with the same \`id\`, \`name\` and \`tag\`; that is always safe.
  After 50300 and 50302 the plant is certainly not stored.

${problemTable(problems)}

## Operators

The listener for operators answers with errors of the same shape. A number that clients get, too, has the same meaning here.
The message says which of the causes was found. The 503 of \`/readyz\` is no error: its body has the checks.

${problemTable(operatorProblems)}
`;
}

function problemTable(catalogue: Readonly<Record<string, Problem>>): string {
  const rows = Object.values(catalogue).map(({ code, status, when, remedy, headers }) => {
    const extra = Object.entries(headers).map(([field, value]) => `\`${field}: ${value}\``);
    return [`${code}`, `${status}`, when, remedy, extra.join('<br>')];
  });
  return table(['code', 'status', 'when', 'what to do', 'header fields'], rows);
}

function configurationPage(commands: readonly Command[]): string {
  const names = [...new Set(commands.flatMap((known) => known.flags))];
  const rows = names.map((name) => {
    const users = commands.filter((known) => known.flags.includes(name)).map((known) => known.name);
    return [
      `\`${`--${name} ${flags[name].placeholder}`.trimEnd()}\``,
      `\`${variableOf(name)}\``,
      flags[name].help,
      usual(name),
      users.join(', '),
    ];
  });
  return `# Configuration

<!-- Generated from src/config/flags.ts by "npm run docs". -->

Every flag has an environment variable; the flag counts first, then the variable, then the default. An empty variable
is the same as none. A wrong flag or value is an error that names it, with exit code 2. \`npx plant-store COMMAND --help\` shows the
flags of one command, with examples.

${table(['flag', 'variable', 'what', 'default', 'commands'], rows)}

Times are written as \`500ms\`, \`30s\`, \`15m\`, \`12h\` or \`90d\`.

\`PLANT_STORE_TOKEN\` gives \`serve\` a fixed token that may create plants, for containers; \`--token-file\` reads it from a
file instead. It is admitted besides the tokens in the store as long as the process runs, and plants that come with it are listed as
created by \`environment\`. With a fixed token, no first token is made. It has no flag, because other users of a machine can read command lines.
The file is a regular file of up to ${limits.access.tokenFileBytesMax} bytes, or a symbolic link to one. A pipe such as \`<(…)\` is refused: put what it prints into the variable instead.

In Kubernetes, a Service named \`plant-store\` makes the variable \`PLANT_STORE_PORT=tcp://…\` in every pod, which is not a port:
name the Service otherwise, or set \`enableServiceLinks: false\`.
`;
}

function usual(name: FlagName): string {
  const value = flags[name].default;
  return value === undefined ? '' : `\`${value}\``;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  return [head, head.map(() => '---'), ...cells].map((row) => `| ${row.join(' | ')} |`).join('\n');
}
