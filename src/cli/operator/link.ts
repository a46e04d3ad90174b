import { makeSignInLink, type SignInLink } from '../../access/sign-in-link.ts';
import { limits } from '../../limits.ts';
import type { StoreLocation } from '../../store/location.ts';
import { openExistingStore } from '../../stores.ts';

/** Writes a sign-in link into the store. @throws StoreOpenError, StoreError */
export async function linkInto(location: StoreLocation): Promise<SignInLink> {
  await using store = await openExistingStore(location, limits.cli.lockMs);
  return await makeSignInLink(store, Date.now());
}
