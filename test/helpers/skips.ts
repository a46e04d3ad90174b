import assert from 'node:assert/strict';
import { type TestContext, type TestOptions, test } from 'node:test';

/** `.ci/run` says so where it finds that everything can be had. */
export const skipsAreForbidden = process.env['TEST_SKIPS'] === 'forbidden';

/**
 * Skips the test with the reason, in a line that can be seen; where all tests must run, it fails.
 */
export function skipVisibly(t: TestContext, why: string): void {
  assert(!skipsAreForbidden, why);
  t.skip(why);
}

/** `test` with the same options for each test of a file. */
export function testWith(options: TestOptions) {
  return (what: string, check: (t: TestContext) => Promise<void>) => test(what, options, check);
}
