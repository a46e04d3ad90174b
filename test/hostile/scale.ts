/**
 * Whether the long form runs (`npm run torture:hostile`), or the short one, with all the other
 * tests.
 */
const isLong = process.env['HOSTILE'] === 'long';

/** How often, how many or how long, in the form that runs. */
export function scale<T>(sizes: { readonly short: T; readonly long: T }): T {
  return isLong ? sizes.long : sizes.short;
}
