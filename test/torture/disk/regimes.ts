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
      return regimeOf(
        () => 0,
        () => false,
      );
    case 'everything':
      return regimeOf(
        ({ length }) => length,
        () => true,
      );
    case 'the first': {
      const isThere = (change: number) => change <= limit;
      return regimeOf((changes) => changes.filter(isThere).length, isThere);
    }
    case 'the last': {
      const isThere = (change: number) => change >= limit;
      return regimeOf((changes) => (isThere(changes.at(-1) ?? 0) ? changes.length : 0), isThere);
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

/** A regime that tears no sector, by how many of the changes of a sector or a length are there. */
function regimeOf(count: Regime['length'], name: Regime['name']): Regime {
  return { sector: (changes) => ({ whole: count(changes), tornBytes: 0 }), length: count, name };
}
