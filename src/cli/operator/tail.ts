import { UsageError } from '../../config/values.ts';
import type { RequestRecord } from '../../ops/contract.ts';
import { command, type Terminal } from '../command.ts';
import { addressFlags, addressTexts, consoleUrl, operatorAddress } from './address.ts';
import { demandClient } from './client-name.ts';
import { follow } from './follow.ts';
import { recordInJson, recordLines } from './record-lines.ts';
import { signInAt } from './session.ts';

export const tail = command({
  positionals: [],
  summary:
    'Follow the requests that a running service refuses: the last ones, and then each new one. With --no-follow, print the last ones only.',
  need: 'Use it to see why a client gets errors. It needs access to the store of the service.',
  flags: [
    'store',
    ...addressFlags,
    'code',
    'token',
    'no-token',
    'creates',
    'last',
    'no-follow',
    'json',
  ],
  texts: addressTexts,
  elsewhere: (flag) => flagsOfOtherTools.get(flag),
  examples: [
    'plant-store tail',
    'plant-store tail --token my-app --code 40004',
    'plant-store tail --token my-app --last 1000 --no-follow',
    'plant-store tail --no-token',
    'plant-store tail --creates --json',
  ],
  async run({ values }, terminal) {
    const { code, token, creates, last, store, json } = values;
    const address = operatorAddress(values, 'ask for the requests');
    const isWithoutToken = values['no-token'];
    const isOnce = values['no-follow'];
    if (isWithoutToken && (token !== undefined || creates))
      throw new UsageError(
        '--no-token goes with neither --token nor --creates, which need a token',
      );
    if (token !== undefined) await demandClient(token, store);
    const query = {
      ...(code === undefined ? {} : { code: `${code}` }),
      ...(token === undefined ? {} : { token }),
      ...(isWithoutToken ? { validToken: 'false' } : {}),
      ...(creates ? { creates: 'true' } : {}),
    };
    const { signal, stoppedBy } = untilStopped(terminal);
    const shown = countedOn(terminal, json, signal);
    {
      await using session = await signInAt(address, store);
      if (!isOnce && terminal.width !== undefined && terminal.errorsWidth !== undefined)
        terminal.note(`Following ${consoleUrl(address)}; Ctrl-C ends.`);
      const note = (says: string) => terminal.note(says, 'warning');
      await follow(session, { query, last, isOnce }, { show: shown.show, note }, signal);
    }
    const name = stoppedBy();
    if (name === undefined) return 0;
    terminal.note(shown.total());
    terminal.endBy(name);
    return 0;
  },
});

/** What the flags of tail(1) are here. */
const flagsOfOtherTools: ReadonlyMap<string, string> = new Map([
  ['n', 'did you mean --last?'],
  ['lines', 'did you mean --last?'],
  ['limit', 'did you mean --last?'],
  ['f', 'tail follows by itself'],
  ['follow', 'tail follows by itself; --no-follow ends after the past requests'],
]);

/** Stops at a signal, at the end of the terminal, and at the end of the reader of a pipe. */
function untilStopped(terminal: Terminal) {
  const stop = new AbortController();
  let name: string | undefined;
  const stopBy = (received: string) => {
    name = received;
    stop.abort();
  };
  void terminal.untilSignal().then(stopBy);
  terminal.onHangup(() => stopBy('SIGHUP'));
  terminal.onOutputClosed(() => stop.abort());
  return { signal: stop.signal, stoppedBy: () => name };
}

/** Prints records, and counts them. A reader that is slow does not delay the stop. */
function countedOn(terminal: Terminal, json: boolean, signal: AbortSignal) {
  const stopped = new Promise((resolve) => signal.addEventListener('abort', resolve));
  const print: Terminal['print'] = (line, style) => {
    if (signal.aborted) return undefined;
    const drained = terminal.print(line, style);
    return drained && Promise.race([drained, stopped]);
  };
  const lines = recordLines(() => terminal.width);
  let first = new Date().toISOString();
  let count = 0;

  async function show(record: RequestRecord): Promise<void> {
    if (count === 0 && record.at < first) first = record.at;
    count += 1;
    if (json) return void (await print(recordInJson(record)));
    const heading = lines.heading(record);
    if (heading !== undefined) await print(heading, 'heading');
    const style = record.outcome === 'failed' ? 'bad' : undefined;
    for (const line of lines.linesOf(record)) await print(line, style);
  }

  return {
    show,
    total: () => `${count.toLocaleString('en')} request${count === 1 ? '' : 's'} since ${first}`,
  };
}
