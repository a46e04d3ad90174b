import type { Regime } from './disk.ts';

/** What a power cut leaves of what was pending. */
export const regimeNames = [
  'nothing',
  'everything',
  'the first',
  'the last',
  'some',
  'torn',
] as const;
export type RegimeName = (typeof regimeNames)[number];

/**
 * @param pending the numbers of the events of which something is pending, in ascending order
 * @param random from 0 to 1
 */
export function createRegime(
  name: RegimeName,
  pending: readonly number[],
  random: () => number,
): Regime {
  const upTo = (max: number) => Math.floor(random() * max);
  const limit = pending[upTo(pending.length)] ?? 0;
  const share = random();

  switch (name) {
    case 'nothing':
      return { sector: () => ({ whole: 0, tornBytes: 0 }), length: () => 0, name: () => false };
    case 'everything':
      return {
        sector: ({ length }) => ({ whole: length, tornBytes: 0 }),
        length: ({ length }) => length,
        name: () => true,
      };
    case 'the first': {
      const count = (changes: readonly number[]) =>
        changes.filter((change) => change <= limit).length;
      return {
        sector: (changes) => ({ whole: count(changes), tornBytes: 0 }),
        length: count,
        name: (change) => change <= limit,
      };
    }
    case 'the last': {
      const count = (changes: readonly number[]) =>
        (changes.at(-1) ?? 0) >= limit ? changes.length : 0;
      return {
        sector: (changes) => ({ whole: count(changes), tornBytes: 0 }),
        length: count,
        name: (change) => change >= limit,
      };
    }
    case 'some':
    case 'torn': {
      const some = (changes: readonly number[]) =>
        random() < share ? 1 + upTo(changes.length) : 0;
      const tornBytes = () => (name === 'torn' && random() < 0.5 ? upTo(512) : 0);
      return {
        sector: (changes) => ({ whole: some(changes), tornBytes: tornBytes() }),
        length: (changes) => upTo(changes.length + 1),
        name: () => random() < 0.5,
      };
    }
    default:
      return name satisfies never;
  }
}
