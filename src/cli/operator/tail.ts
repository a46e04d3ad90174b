import { isGeneratedToken } from '../../access/opaque-tokens.ts';
import { suggestion } from '../../config/suggestion.ts';
import { UsageError } from '../../config/values.ts';
import { limits } from '../../limits.ts';
import type { RequestRecord } from '../../ops/contract.ts';
import type { StoreLocation } from '../../store/location.ts';
import { fixedTokenName } from '../../store/tokens.ts';
import { commandFor, openReader } from '../../stores.ts';
import { CommandError, command, type Terminal } from '../command.ts';
import { addressFlags, addressTexts, consoleUrl, operatorAddress } from './address.ts';
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
    if (token !== undefined) await demandName(token, store);
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
  ['f', 'tail follows by itself'],
  ['follow', 'tail follows by itself; --no-follow ends after the past requests'],
]);

/** A mistyped name would look like a token without refusals. @throws CommandError */
async function demandName(token: string, location: StoreLocation): Promise<void> {
  if (isGeneratedToken(token))
    throw new UsageError('--token takes the name of a token, and never the token itself');
  await using store = await openReader(location, limits.cli.readMs);
  const names = [fixedTokenName, ...(await store.listTokens()).map(({ name }) => name)];
  // A subject of an identity provider, whose name has a space, is stored with its first plant.
  if (names.includes(token) || token.includes(' ')) return;
  const wayOut = suggestion(token, names, `${commandFor(location, 'token list')} shows the names`);
  throw new CommandError(`${store.location} has never had a token named ${token}; ${wayOut}`);
}

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
