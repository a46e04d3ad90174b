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
import { variables } from '../src/config/postgres/variables.ts';
import { openApiDocument } from '../src/contract/openapi.ts';
import { operatorProblems } from '../src/contract/operator-problems.ts';
import { type Problem, problems } from '../src/contract/problems.ts';
import { limits } from '../src/limits.ts';
import architecture from './architecture.json' with { type: 'json' };

const folder = join(import.meta.dirname, '../docs');

const flagHead = ['flag and variable', 'what it does', 'default', 'who needs it'];

/** Variables that are not those of a flag. */
const otherVariables = [
  [
    '`PLANT_STORE_TOKEN`',
    'a [fixed token](tokens.md#a-fixed-token) of `serve`, and the token of `send`',
    'For containers that get secrets as variables.',
  ],
  [
    Object.values(variables)
      .map((name) => `\`${name}\``)
      .join(' '),
    'the parts of a `postgres://` URL that the URL leaves out, as in libpq',
    'For a machine whose other programs find the database by these variables, and for passwords.',
  ],
  [
    '`HOME`, `APPDATA`',
    'where the default files of libpq are: password, certificates, key',
    'For these files, with a `postgres://` URL only.',
  ],
  [
    '`NO_COLOR`, `TERM=dumb`',
    'turn colours off ([no-color.org](https://no-color.org)); `TERM=dumb` also the progress bar',
    'For people who read no colours, and for terminals without both.',
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
  'use/errors.md': clientErrorsPage(),
  'operate/errors.md': operatorErrorsPage(),
  'operate/configuration.md': configurationPage(commands),
  'operate/command-flags.md': commandFlagsPage(commands),
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

function clientErrorsPage(): string {
  return `# Errors

<!-- Generated from src/contract/problems.ts by "npm run docs". -->

Every error reply of the public listener has the same shape, whatever its status:

- The header field \`Content-Type\` is \`application/json\`.
- The header field \`X-Request-Id\` names the request.
  The operator finds a defect in the log by this id.
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
The [description](../openapi.json) has an example of each error, and names the codes for [generated clients](generated-clients.md).

${problemTable(problems)}
`;
}

function operatorErrorsPage(): string {
  return `# Errors of the operators' listener

<!-- Generated from src/contract/operator-problems.ts by "npm run docs". -->

Error replies have the same shape as on the [public listener](../use/errors.md): \`{"error": CODE, "message": TEXT}\`.
A code that both listeners use has the same meaning on both.
The message says which cause was found.
The 503 of \`/readyz\` is not an error reply: its body holds the [checks](monitoring.md#probes).

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

/** The flags of several commands and of `serve`, and what else configures the program. */
function configurationPage(commands: readonly Command[]): string {
  const shared = sharedFlags(commands);
  const sharedRows = shared.map((name) => {
    const [flag = '', ...cells] = flagRow(name);
    const takers = commands.filter((known) => known.flags.includes(name));
    const [help = '', ...others] = cells;
    const connecting = takers.filter(({ texts }) => texts?.[name]);
    const elsewhere = connecting[0]?.texts?.[name]?.help;
    const says = elsewhere === undefined ? '' : `.<br>${namesOf(connecting)}: ${elsewhere}`;
    return [flag, `${help}${says}`, ...others, namesOf(takers)];
  });
  const serve = commands.filter(({ name }) => name === 'serve');
  return `# Configuration

<!-- Generated from src/config/flags.ts by "npm run docs". -->

Every flag has an environment variable.
The flag has priority, then the variable, then the default.
A wrong flag, a wrong value or an empty value ends the command with exit code 2 and a message that names the flag.
So does a variable \`PLANT_STORE_…\` that no command has.
\`npx plant-store COMMAND --help\` shows the flags of one command, with examples.

A TIME is written as \`500ms\`, \`30s\`, \`15m\`, \`12h\` or \`90d\`.

This page has the flags of \`serve\`, and flags that several commands share.
[Flags of the commands](command-flags.md) has the others.

${serve.map((known) => commandSection(known, shared)).join('')}

## Flags of several commands

${table([...flagHead, 'commands'], sharedRows)}

## Variables without a flag

${table(['variable', 'what it does', 'who needs it'], otherVariables)}

## In Kubernetes

A Kubernetes Service with the name \`plant-store\` sets the variable \`PLANT_STORE_PORT=tcp://…\` in every pod.
\`tcp://…\` is not a port, so the start fails.
Give the Kubernetes Service a different name, or set \`enableServiceLinks: false\`.
`;
}

function namesOf(commands: readonly Command[]): string {
  return commands.map(({ name }) => name).join(', ');
}

/** The flags of one command each, except `serve`. */
function commandFlagsPage(commands: readonly Command[]): string {
  const shared = sharedFlags(commands);
  const others = commands.filter(({ name }) => name !== 'serve');
  return `# Flags of the commands

<!-- Generated from src/config/flags.ts by "npm run docs". -->

This page has the flags that one command takes.
[Configuration](configuration.md) has the flags of \`serve\`, and the flags that several commands share.

${others
  .filter((known) => hasOwnFlags(known, shared))
  .map((known) => commandSection(known, shared))
  .join('\n\n')}

## Commands without flags of their own

${table(
  ['command', 'what it does', 'flags'],
  others
    .filter((known) => !hasOwnFlags(known, shared))
    .map(({ name, summary, need, flags: taken }) => [name, `${summary} ${need}`, flagList(taken)]),
)}
`;
}

function sharedFlags(commands: readonly Command[]): FlagName[] {
  const names = [...new Set(commands.flatMap((known) => known.flags))];
  return names.filter((name) => commands.filter((known) => known.flags.includes(name)).length > 1);
}

function flagRow(name: FlagName): string[] {
  const { placeholder, help, need } = flags[name];
  const flag = `--${name} ${placeholder}`.trimEnd();
  return [`\`${flag}\`<br>\`${variableOf(name)}\``, help, usual(name), need];
}

function hasOwnFlags({ flags: taken }: Command, shared: readonly FlagName[]): boolean {
  return taken.some((flag) => !shared.includes(flag));
}

function commandSection(
  { name, summary, need, flags: taken }: Command,
  shared: readonly FlagName[],
): string {
  const own = taken.filter((flag) => !shared.includes(flag));
  const others = taken.filter((flag) => shared.includes(flag));
  return [
    `## ${name}`,
    `${summary} ${need}`.replaceAll('. ', '.\n'),
    table(flagHead, own.map(flagRow)),
    ...(others.length > 0 ? [`Also takes ${flagList(others)}.`] : []),
  ].join('\n\n');
}

function flagList(names: readonly FlagName[]): string {
  return names.map((name) => `\`--${name}\``).join(', ');
}

function usual(name: FlagName): string {
  const { default: value, placeholder } = flags[name];
  return value === undefined || placeholder === '' ? '' : `\`${value}\``;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = rows.map((row) => row.map((cell) => cell.replaceAll('|', '\\|')));
  return [head, head.map(() => '---'), ...cells].map((row) => `| ${row.join(' | ')} |`).join('\n');
}
