import { problemTitle } from '../../../contract/problems.ts';
import type { Limited, Overview } from '../../../ops/contract.ts';
import { commandOn } from '../../../store/command-text.ts';
import type { Fact } from '../../terminal/facts.ts';
import { numberText } from '../../terminal/progress.ts';
import { timeAndAge } from './figures.ts';

export interface Attention
  extends Pick<
    Overview,
    'jobs' | 'limited' | 'endedInUse' | 'refusedOnly' | 'expiringTokens' | 'store'
  > {
  /** Of the last 24 hours, by all services. */
  readonly failures:
    | { readonly requests: number; readonly lastAt: string; readonly names: readonly string[] }
    | undefined;
}

/** What an operator should look at now. Nothing, if all is well. */
export function attentionFacts(attention: Attention): Fact[] {
  const { jobs, failures, limited, endedInUse, refusedOnly, expiringTokens, store } = attention;
  return [
    ...jobs.flatMap(({ name, fault, ranAt }): Fact[] =>
      fault === null ? [] : [[`failed ${name}`, `${timeAndAge(ranAt)}: ${fault}`, 'bad']],
    ),
    ...(failures
      ? [
          ['failed requests', failuresText(failures), 'bad'] as const,
          ['their hours', commandOn(store.wholeLocation, 'status --hours')] as const,
        ]
      : []),
    ...refusedOnly.map(({ codes, ...client }): Fact => {
      const meanings = codes.map((code) => `${code} (${problemTitle(code)})`).join(', ');
      return ['only refusals', `${refusedText(client)}, with ${meanings}`, 'warning'];
    }),
    ...limited.map(({ rate, ...client }): Fact => {
      const most = rate === null ? '' : `, over ${rate}`;
      const says = `${refusedText(client)}${most}, the last at ${client.lastAt}`;
      return ['over its rate', says, 'warning'];
    }),
    ...endedInUse.map((client): Fact => {
      const says = `${refusedText(client)} with a revoked or expired secret, the last at ${client.lastAt}`;
      return ['secret has ended', says, 'warning'];
    }),
    ...(refusedOnly.length + limited.length + endedInUse.length > 0
      ? [['their refusals', commandOn(store.wholeLocation, 'tail --token NAME')] as const]
      : []),
    ...expiringTokens.map(({ name, expiresAt, isRotated }): Fact => {
      const who = `${isRotated ? 'the old secret of ' : ''}${name}`;
      return ['expires soon', `${who}, at ${timeAndAge(expiresAt)}`, 'warning'];
    }),
  ];
}

const namedMax = 10;

function failuresText({ requests, lastAt, names }: NonNullable<Attention['failures']>): string {
  const more = names.length > namedMax ? ` and ${numberText(names.length - namedMax)} more` : '';
  const clients = names.length === 0 ? '' : `, of ${names.slice(0, namedMax).join(', ')}${more}`;
  return `${numberText(requests)} in 24 hours, the last at ${lastAt}${clients}`;
}

function refusedText({ name, refused }: Limited): string {
  return `${name}: ${numberText(refused)} refused since the start`;
}
