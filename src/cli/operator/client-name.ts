import { isGeneratedToken } from '../../access/opaque-tokens.ts';
import { suggestion } from '../../config/suggestion.ts';
import { UsageError } from '../../config/values.ts';
import { limits } from '../../limits.ts';
import type { StoreLocation } from '../../store/location.ts';
import { fixedTokenName } from '../../store/tokens.ts';
import { commandFor, openReader } from '../../stores.ts';
import { CommandError } from '../command.ts';

/** A mistyped name would look like a token without refusals. @throws UsageError, CommandError */
export async function demandClient(token: string, location: StoreLocation): Promise<void> {
  if (isGeneratedToken(token))
    throw new UsageError('--token takes the name of a token, and never the token itself');
  await using store = await openReader(location, limits.cli.readMs);
  const names = [fixedTokenName, ...(await store.listTokens()).map(({ name }) => name)];
  // A subject of an identity provider, whose name has a space, is stored with its first plant.
  if (names.includes(token) || token.includes(' ')) return;
  const wayOut = suggestion(token, names, `${commandFor(location, 'token list')} shows the names`);
  throw new CommandError(`${store.location} has never had a token named ${token}; ${wayOut}`);
}
