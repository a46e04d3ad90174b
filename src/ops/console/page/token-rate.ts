import { limits } from '../../../limits.ts';
import type { RateWish, Token } from '../../contract.ts';
import { count } from './format.ts';
import { html } from './html.ts';

interface RateFieldsProps {
  /** The rate in force. */
  readonly rate?: string | null;
  readonly burst?: number | null;
}

/** The fields of a form that `rateIn` reads. */
export function RateFields({ rate = null, burst = null }: RateFieldsProps) {
  // An empty field lets the burst follow a new rate.
  const ownBurst = burst === null || rate?.startsWith(`${burst}/`) ? '' : burst;
  return html`
    <label>Creates to each node, such as 100/s, 60/m, 1000/h or 10/d (empty: any number)
      <input name="rate" defaultValue=${rate ?? ''} autocomplete="off" spellcheck=${false} />
    </label>
    <label>Creates at once after a pause (empty: the number in the rate)
      <input name="burst" type="number" min="1" max=${limits.access.burstMax} step="1" defaultValue=${ownBurst} />
    </label>`;
}

/** Null in a form without the fields. */
export function rateIn(form: FormData): RateWish {
  const [rate = '', burst = ''] = ['rate', 'burst'].map((name) => String(form.get(name) ?? ''));
  return { rate: rate.trim() || null, burst: burst === '' ? null : Number(burst) };
}

export function rateSays({ rate, burst }: Pick<Token, 'rate' | 'burst'>): string {
  return rate === null
    ? 'as many creates as the service takes'
    : `${rate}, ${count(burst ?? 0)} at once`;
}
