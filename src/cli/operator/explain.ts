import type { Values } from '../../config/flags.ts';
import { UsageError } from '../../config/values.ts';
import { operatorProblems } from '../../contract/operator-problems.ts';
import { type Problem, problems } from '../../contract/problems.ts';
import type { RequestRecord } from '../../ops/contract.ts';
import { shellQuoted } from '../../store/command-text.ts';
import type { StoreLocation } from '../../store/location.ts';
import { commandFor } from '../../stores.ts';
import { CommandError, command, type Terminal } from '../command.ts';
import { type Fact, printFacts } from '../terminal/facts.ts';
import { type Column, printTable } from '../terminal/table.ts';
import { addressFlags, addressTexts, operatorAddress } from './address.ts';
import { NoAnswerError } from './ask.ts';
import { recordInJson } from './record-lines.ts';
import { signInAt } from './session.ts';

const flags = ['store', ...addressFlags, 'json'] as const;

export const explain = command({
  positionals: ['ID'],
  summary:
    'Tell what is known of a request, by the X-Request-Id of its reply, or what an error code means, or which codes an HTTP status has.',
  need: 'Use it for the error that a client reports. A code such as 40004 and a status such as 400 need no service.',
  flags,
  texts: addressTexts,
  examples: [
    'plant-store explain 40004',
    'plant-store explain 400',
    'plant-store explain 6a26d1e29f0c3b-3k --json',
  ],
  suggest: () => [...new Set(Object.values(problems).map(({ code }) => `${code}`))],
  async run({ values, positionals: [typed = ''] }, terminal) {
    // A line of a reply, as `curl -i` and `curl -v` print it.
    const id = typed.replace(/^[<\s]*x-request-id:/i, '').trim();
    const meanings = /^(\d{3}|\d{5})$/.test(id) ? meaningsOf(Number(id)) : undefined;
    const explained = meanings ?? [await requestOf(id, values)];
    if (values.json) for (const one of explained) await terminal.print(recordInJson(one));
    else if (meanings) await printMeanings(meanings, terminal);
    else printBlocks(explained, terminal);
    if (!values.json) for (const one of explained) noteOthers(one, values.store, terminal);
    return 0;
  },
});

/** The way to the other refusals of the client, which may tell more than a forgotten message. */
function noteOthers(
  { token, code }: Partial<RequestRecord>,
  store: StoreLocation,
  terminal: Terminal,
) {
  if (token == null || code == null) return;
  if (code === problems.tokenInvalid.code)
    terminal.note(`The service knows the secret: the token ${token} was revoked, or has expired.`);
  const words = `tail --token ${shellQuoted(token)} --code ${code}`;
  terminal.note(`${commandFor(store, words)} shows the newest such refusals of ${token}.`);
}

interface Meaning {
  readonly code: number;
  readonly status: number;
  /** Who gets the error. */
  readonly sentTo: 'clients' | 'operators';
  readonly meaning: string;
  readonly remedy: string;
}

const catalogues = [
  ['clients', problems],
  ['operators', operatorProblems],
] as const;

/**
 * The meanings of a code, or of all codes with an HTTP status, in order of code. An error that both ports have is told
 * twice if the remedy differs.
 *
 * @throws UsageError
 */
function meaningsOf(number: number): Meaning[] {
  const found = catalogues
    .flatMap(([sentTo, catalogue]) =>
      Object.values<Problem>(catalogue)
        .filter(({ code, status }) => code === number || status === number)
        .map(({ code, status, when, remedy }) => ({ code, status, sentTo, meaning: when, remedy })),
    )
    .sort((one, other) => one.code - other.code);
  if (found.length === 0)
    throw new UsageError(
      `there is no error code ${number < 1_000 ? `with the HTTP status ${number}` : number}`,
    );
  return found.filter(
    ({ code, remedy }, index) =>
      index === found.findIndex((one) => one.code === code && one.remedy === remedy),
  );
}

const columns: readonly Column<Meaning>[] = [
  { head: 'CODE', kind: 'whole', cell: ({ code }) => `${code}` },
  { head: 'SENT TO', kind: 'words', cell: ({ code }) => receiversOf(code) },
  { head: 'MEANING', kind: 'words', cell: ({ meaning }) => meaning },
];

/** Of several codes a table, and of one code all that is known. */
async function printMeanings(meanings: readonly Meaning[], terminal: Terminal): Promise<void> {
  const oneOfEach = meanings.filter(({ code }, index) => code !== meanings[index - 1]?.code);
  if (oneOfEach.length === 1) return printBlocks(blocksOf(meanings), terminal);
  await printTable(columns, oneOfEach, terminal);
  terminal.note('"plant-store explain CODE" tells what to do about a code.');
}

/** The meanings of one code, in one block if both ports mean the same. */
function blocksOf(meanings: readonly Meaning[]): readonly object[] {
  const [first, second] = meanings;
  if (first === undefined || (second && second.meaning !== first.meaning)) return meanings;
  const { code, status, meaning, remedy } = first;
  if (second) return [{ code, status, meaning, clients: remedy, operators: second.remedy }];
  return [{ ...first, sentTo: receiversOf(code) }];
}

function receiversOf(wanted: number): string {
  return catalogues
    .filter(([, catalogue]) =>
      Object.values<Problem>(catalogue).some(({ code }) => code === wanted),
    )
    .map(([sentTo]) => sentTo)
    .join(', ');
}

function printBlocks(blocks: readonly object[], terminal: Terminal): void {
  for (const [index, block] of blocks.entries()) {
    if (index > 0) terminal.print('');
    printFacts(factsOf(block), terminal);
  }
}

/** @throws CommandError if nothing is known of the request */
async function requestOf(id: string, values: Values<(typeof flags)[number]>) {
  if (!/^[0-9a-f]{12}(?:[0-9a-f]{2})?-[0-9a-z]{1,11}$/.test(id))
    throw new UsageError(
      `ID must be the X-Request-Id of a reply, such as 6a26d1e29f0c3b-3k, an error code, such as 40004, or an HTTP status, such as 400; it is ${JSON.stringify(id)}`,
    );
  try {
    await using session = await signInAt(
      operatorAddress(values, 'ask for the request'),
      values.store,
    );
    const record = await session.get<RequestRecord>(`/api/requests/${id}`);
    const [meaning] = record.code === null ? [] : meaningsOf(record.code);
    return { ...record, meaning: meaning?.meaning, remedy: meaning?.remedy };
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error;
    throw new CommandError(
      `${error.message}. Search the log of the service for ${id}: the log has all failures, and with --log-level debug all refusals`,
    );
  }
}

/** The names of members as an operator reads them. */
const labels: Readonly<Record<string, string>> = {
  at: 'time',
  requestId: 'request id',
  sentTo: 'sent to',
  clients: 'for clients',
  operators: 'for operators',
};

function factsOf(record: object): Fact[] {
  return Object.entries(record)
    .filter(([, value]) => value !== undefined && value !== null && value !== '')
    .map(([name, value]) => [labels[name] ?? name, `${value}`]);
}
