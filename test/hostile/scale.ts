import type { TestContext } from 'node:test';

/**
 * Whether the long form runs (`npm run torture:hostile`), or the short one, with all the other
 * tests.
 */
const isLong = process.env['HOSTILE'] === 'long';

/** How often, how many or how long, in the form that runs. */
export function scale<T>(sizes: { readonly short: T; readonly long: T }): T {
  return isLong ? sizes.long : sizes.short;
}

/** What a test has tried and what came of it: a line of the report of the long form. */
export interface Tried {
  readonly kind: string;
  readonly count: number;
  readonly outcome: string;
}

const mark = 'tried ';

export function report(t: TestContext, tried: Tried): void {
  t.diagnostic(mark + JSON.stringify(tried));
}

/** @returns undefined for a diagnostic message of another kind */
export function parseReport(diagnostic: string): Tried | undefined {
  return diagnostic.startsWith(mark)
    ? (JSON.parse(diagnostic.slice(mark.length)) as Tried)
    : undefined;
}
