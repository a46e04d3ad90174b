import { problemTitle } from '../../../contract/problems.ts';
import type { Limited, Overview } from '../../../ops/contract.ts';
import { commandOn } from '../../../store/command-text.ts';
import type { Fact } from '../../terminal/facts.ts';
import { numberText } from '../../terminal/progress.ts';
import { timeAndAge } from './figures.ts';

/** What an operator should look at now. Nothing, if all is well. */
export function attentionFacts(overview: Omit<Overview, 'configuration' | 'creates'>): Fact[] {
  const { jobs, limited, endedInUse, refusedOnly, expiringTokens, store } = overview;
  return [
    ...jobs.flatMap(({ name, fault, ranAt }): Fact[] =>
      fault === null ? [] : [[`failed ${name}`, `${timeAndAge(ranAt)}: ${fault}`, 'bad']],
    ),
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

function refusedText({ name, refused }: Limited): string {
  return `${name}: ${numberText(refused)} refused since the start`;
}
