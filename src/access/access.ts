import type { Role } from '../store/store.ts';

/** Who sends a request. `id` is 0 for the fixed token of the environment. */
export interface Caller {
  readonly id: number;
  readonly name: string;
  readonly role: Role;
}

/** Tells who a bearer token belongs to. Disposing of it writes down when tokens were last used. */
export interface Access extends AsyncDisposable {
  /** @returns the caller, `unknown` for a token that admits nobody (any more), `unavailable` while that cannot be told */
  authenticate(token: string): Caller | 'unknown' | 'unavailable';
}
