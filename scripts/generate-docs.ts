/**
 * Writes the parts of the documentation that follow from the code: `npm run docs`. With `--check`
 * it writes nothing and fails if a file is not what it should be.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Command } from '../src/cli/command.ts';
import { loadCommands } from '../src/cli/commands.ts';
import { type Flag, type FlagName, flags } from '../src/config/flags.ts';
import { variables } from '../src/config/postgres-location.ts';
import { openApiDocument } from '../src/contract/openapi.ts';
import { operatorProblems } from '../src/contract/operator-problems.ts';
import { type Problem, problems } from '../src/contract/problems.ts';
import { limits } from '../src/limits.ts';
import architecture from './architecture.json' with { type: 'json' };

const folder = join(import.meta.dirname, '../docs');

/** Variables that are not those of a flag. */
const otherVariables = [
  [
    '`PLANT_STORE_TOKEN`',
    'a [fixed token](tokens.md#a-fixed-token) of `serve`, for containers that get secrets as variables',
  ],
  [
    Object.values(variables)
      .map((name) => `\`${name}\``)
      .join(' '),
    'the parts of a `postgres://` URL that the URL leaves out, as in libpq',
  ],
  [
    '`OTEL_…`',
    'the export of [traces](monitoring.md#traces), with `--otlp-endpoint`: the variables of OpenTelemetry',
  ],
  [
    '`NO_COLOR`, `TERM=dumb`',
    'turn colours off ([no-color.org](https://no-color.org)); `TERM=dumb` also the progress bar',
  ],
];

/**
 * A part of `src/`, what is in it, and which others it may import: `depcruise` holds the code to
 * that.
 */
type Part = (typeof architecture)[number];

const commands = await loadCommands();
const generated: Record<string, string> = {
  'openapi.json': `${JSON.stringify(openApiDocument({ basePath: '', bodyBytesMax: limits.http.bodyBytesMax }), null, 2)}\n`,
  'use/errors.md': errorsPage(),
  'operate/configuration.md': configurationPage(commands),
  'understand/architecture.md': architecturePage(architecture),
  '../clients/typescript/src/error-code.ts': errorCodeType(),
};

const isCheck = process.argv.includes('--check');
for (const [name, content] of Object.entries(generated)) {
  const path = join(folder, name);
  if (!isCheck) writeFileSync(path, content);
  else if (readFileSync(path, 'utf8') !== content) {
    console.error(`${join('docs', name)} is out of date; run: npm run docs`);
    process.exitCode = 1;
  }
}

function errorCodeType(): string {
  const codes = Object.values<Problem>(problems).map(({ code }) => `  | ${code}\n`);
  return `// Generated from src/contract/problems.ts by "npm run docs".\n\n/** \`error\` of an error reply: docs/use/errors.md has the meaning of each code. */\nexport type ErrorCode =\n${codes.join('').trimEnd()};\n`;
}

/** The page as it is, with the picture and the table of the parts as they are now. */
function architecturePage(parts: readonly Part[]): string {
  const page = readFileSync(join(folder, 'understand/architecture.md'), 'utf8');
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
  const codes = new Set<number>(Object.values<Problem>(problems).map(({ code }) => code));
  const ofOperators = Object.values<Problem>(operatorProblems);
  const [shared, own] = [true, false].map((isShared) =>
    ofOperators.filter(({ code }) => codes.has(code) === isShared),
  );
  return `# Errors

<!-- Generated from src/contract/problems.ts and operator-problems.ts by "npm run docs". -->

Every error reply has the same shape, whatever its status:

- The header field \`Content-Type\` is \`application/json\`.
- The header field \`X-Request-Id\` names the request.
  The operator finds the request in the log by this id.
- The body is \`{"error": CODE, "message": TEXT}\`.
  The message says what is wrong, where, and what to do.

A code never changes its meaning, and no code is used twice.
The status says whether the plant was stored:

| reply | the plant | what to do |
| --- | --- | --- |
| 2xx | is stored and durable | nothing |
| 4xx | was not stored by this request | see the code below |
| 503 with 50300 or 50302 | was not stored by this request | retry |
| any other 5xx, a reset, a time-out | is stored once, or not at all | retry with the same \`id\`, \`name\` and \`tag\` |

A retry is always safe: see [ids and retries](retries.md).

## Public port

${problemTable(Object.values(problems))}

## Port for operators

These codes are sent to operators alone:

${problemTable(own ?? [])}

The port for operators also sends ${(shared ?? []).map(({ code }) => code).join(', ')}, with the meaning above.
The 503 of \`/readyz\` is not an error reply: its body holds the [checks](../operate/monitoring.md#probes).
`;
}

function problemTable(catalogue: readonly Problem[]): string {
  const rows = catalogue.map(({ code, status, when, remedy, headers }) => {
    const fields = Object.entries(headers).map(([field, value]) => `\`${field}: ${value}\``);
    return [`${code}`, [status, ...fields].join('<br>'), when, remedy];
  });
  return table(['code', 'status', 'when', 'what to do'], rows);
}

function configurationPage(commands: readonly Command[]): string {
  const names = Object.keys(flags) as FlagName[];
  return `# Configuration

<!-- Generated from src/config/flags.ts by "npm run docs". -->

Every flag has an environment variable: \`--base-path\` has \`PLANT_STORE_BASE_PATH\`.
The flag has priority, then the variable, then the default.
A wrong flag, or a wrong or empty value, ends the command with exit code 2 and a message that names the flag.
So does a variable \`PLANT_STORE_…\` that no command has.
\`npx plant-store COMMAND --help\` shows the flags of one command, who needs them, and examples.

A TIME is written as \`500ms\`, \`30s\`, \`15m\`, \`12h\` or \`90d\`.

## Flags

${table(
  ['flag', 'what it does', 'default', 'commands'],
  names.map((name) => flagRow(name, commands)),
)}

## Variables without a flag

${table(['variable', 'what it sets'], otherVariables)}

## In Kubernetes

A Kubernetes Service with the name \`plant-store\` sets the variable \`PLANT_STORE_PORT=tcp://…\` in every pod.
\`tcp://…\` is not a port, so the start fails.
Give the Kubernetes Service a different name, or set \`enableServiceLinks: false\`.
`;
}

function flagRow(name: FlagName, commands: readonly Command[]): string[] {
  const { placeholder, help, default: value }: Flag<unknown> = flags[name];
  const takers = commands.filter((known) => known.flags.includes(name));
  const usual = value === undefined || placeholder === '' ? '' : `\`${value}\``;
  const missing = commands.filter((known) => !takers.includes(known));
  const taken = missing.length < takers.length ? `all but ${namesOf(missing)}` : namesOf(takers);
  return [`\`${`--${name} ${placeholder}`.trimEnd()}\``, help, usual, taken];
}

function namesOf(commands: readonly Command[]): string {
  return commands.map(({ name }) => name).join(', ');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  return [head, head.map(() => '---'), ...cells].map((row) => `| ${row.join(' | ')} |`).join('\n');
}
