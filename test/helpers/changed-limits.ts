import { demandFit, type Limits, limits as own } from '../../src/limits.ts';

const changed: { readonly [P in keyof Limits]?: object } = JSON.parse(
  process.env['CHANGED_LIMITS'] ?? '{}',
);
const parts = Object.keys(changed) as (keyof Limits)[];

/** What a program with `sabotage.ts` loads as its limits. */
export const limits: Limits = {
  ...own,
  ...Object.fromEntries(parts.map((part) => [part, { ...own[part], ...changed[part] }])),
};

demandFit(limits);
