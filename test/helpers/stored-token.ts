import { storeLocation } from '../../src/cli/flags/store-location.ts';
import { limits } from '../../src/limits.ts';
import { engineOf } from '../../src/store/engines.ts';
import { issued, type Wish } from './access.ts';
import { storeText } from './program.ts';

/**
 * Makes a token, and the store if there is none, without the cost of a process.
 *
 * @param store the path of a file, or the URL of a database
 */
export async function storedToken(store: string, name: string, wish: Wish = {}): Promise<string> {
  await using opened = await engineOf(storeLocation(storeText(store), {})).open({
    callMs: limits.cli.lockMs,
    mayMake: true,
  });
  return await issued(opened, name, wish);
}
