import type { Values } from '../../config/flags.ts';
import { UsageError } from '../../config/values.ts';
import { operatorProblems } from '../../contract/operator-problems.ts';
import { type Problem, problems } from '../../contract/problems.ts';
import type { RequestRecord } from '../../ops/contract.ts';
import { CommandError, command } from '../command.ts';
import { printFacts } from '../terminal/facts.ts';
import { addressFlags, addressTexts, operatorAddress } from './address.ts';
import { NoAnswerError } from './ask.ts';
import { recordInJson } from './record-lines.ts';
import { RefusedError, signInAt } from './session.ts';

const flags = ['store', ...addressFlags, 'json'] as const;

export const explain = command({
  positionals: ['ID'],
  summary:
    'Tell what is known of a request, by the X-Request-Id of its reply, or what an error code means.',
  need: 'Use it for the error that a client reports. A code such as 40004 needs no service.',
  flags,
  texts: addressTexts,
  examples: ['plant-store explain 40004', 'plant-store explain 1f0c9a7be2d4-3k --json'],
  suggest: () => [...new Set(Object.values(problems).map(({ code }) => `${code}`))],
  async run({ values, positionals: [id = ''] }, terminal) {
    const explained = /^\d{5}$/.test(id) ? meaningsOf(Number(id)) : [await requestOf(id, values)];
    for (const [index, one] of explained.entries()) {
      if (values.json) {
        await terminal.print(recordInJson(one));
        continue;
      }
      if (index > 0) terminal.print('');
      printFacts(factsOf(one), terminal);
    }
    return 0;
  },
});

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

/** An error that both ports have is told twice if the remedy differs. @throws UsageError */
function meaningsOf(code: number): Meaning[] {
  const found = catalogues.flatMap(([sentTo, catalogue]) =>
    Object.values<Problem>(catalogue)
      .filter((one) => one.code === code)
      .map(({ status, when, remedy }) => ({ code, status, sentTo, meaning: when, remedy })),
  );
  if (found.length === 0) throw new UsageError(`there is no error code ${code}`);
  return found.filter(({ remedy }, index) => index === 0 || remedy !== found[0]?.remedy);
}

/** @throws CommandError if nothing is known of the request */
async function requestOf(id: string, values: Values<(typeof flags)[number]>) {
  if (!/^[0-9a-f]{12}-[0-9a-z]{1,11}$/.test(id))
    throw new UsageError(
      `ID must be the X-Request-Id of a reply, such as 1f0c9a7be2d4-3k, or an error code, such as 40004; it is ${JSON.stringify(id)}`,
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
    const isUnknown = error instanceof RefusedError && error.status === 404;
    if (!isUnknown && !(error instanceof NoAnswerError)) throw error;
    throw new CommandError(`${error.message.replace(/\.$/, '')}. ${elsewhere(id)}`);
  }
}

function elsewhere(id: string): string {
  return `Search the log of the service for ${id}: the log has all failures, and with --log-level debug all refusals`;
}

/** The names of members as an operator reads them. */
const labels: Readonly<Record<string, string>> = {
  at: 'time',
  requestId: 'request id',
  sentTo: 'sent to',
};

function factsOf(record: object): (readonly [name: string, value: string])[] {
  return Object.entries(record)
    .filter(([, value]) => value !== undefined && value !== null && value !== '')
    .map(([name, value]) => [labels[name] ?? name, `${value}`]);
}
