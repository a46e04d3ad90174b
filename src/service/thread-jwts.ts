import { openJwtAccess } from '../access/jwt/jwt-access.ts';
import type { JwtRules } from '../access/jwt/rules.ts';
import type { NewTally } from '../access/tally.ts';
import type { TokenWriter } from '../store/tokens.ts';
import type { HttpThreadReport } from './http-thread-control.ts';

/** Access by JWTs on an HTTP thread, which asks the main thread for the keys of issuers. */
export function openThreadJwts(
  rules: JwtRules,
  store: TokenWriter,
  report: (message: HttpThreadReport) => void,
  onError: (message: string, error: unknown) => void,
  newTally: NewTally,
) {
  const waiting = new Map<number, (isDone: boolean) => void>();
  let requests = 0;
  const access = openJwtAccess({
    ...{ store, rules, onError, newTally, now: Date.now },
    again(issuer) {
      const request = (requests += 1);
      report({ keysWanted: { issuer, request } });
      return new Promise((resolve) => waiting.set(request, resolve));
    },
  });
  return {
    access,
    takeKeys: access.takeKeys,
    /** The main thread has read the keys, or could not. */
    noteRead({ request, isDone }: { readonly request: number; readonly isDone: boolean }): void {
      waiting.get(request)?.(isDone);
      waiting.delete(request);
    },
  };
}
