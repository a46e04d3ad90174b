import type { Minute } from '../../contract.ts';
import {
  type Gap,
  gapsIn,
  historyFigures,
  minutesWithoutService,
  startsIn,
} from '../../history-figures.ts';
import { count, figure, minuteClock, startOfHour } from './format.ts';
import { html } from './html.ts';
import { historyPath } from './router.ts';

/** The last 24 hours in figures. @param minutes empty before they are known */
export function Day({ minutes }: { minutes: readonly Minute[] }) {
  return html`
    <section class="card">
      <h2>Last 24 hours</h2>
      <dl class="figures">${figuresOf(minutes).map(Tile)}</dl>
      <p><a href="#/history">By hour, and by client</a></p>
    </section>`;
}

interface Figure {
  readonly title: string;
  readonly value: string;
  readonly more?: string;
  readonly isBad?: boolean;
  /** Where the hours or minutes of the figure are. */
  readonly href?: string;
}

function Tile({ title, value, more, isBad = false, href }: Figure) {
  const shown = href === undefined ? value : html`<a href=${href}>${value}</a>`;
  return html`<div><dt>${title}</dt><dd class=${isBad ? 'is-bad' : ''}>${shown} ${more && html`<span class="quiet">${more}</span>`}</dd></div>`;
}

function figuresOf(minutes: readonly Minute[]): readonly Figure[] {
  const { created, failed, refused, slowest } = historyFigures(minutes);
  const taken = minutes.reduce((sum, minute) => sum + minute.taken, 0);
  const starts = startsIn(minutes);
  const lastStart = starts.at(-1);
  const gaps = gapsIn(minutes);
  const longestGap = gaps.toSorted((one, other) => lengthOf(other) - lengthOf(one))[0];
  const without = minutesWithoutService(minutes);
  const known = (value: string) => (minutes.length === 0 ? '…' : value);
  return [
    { title: 'Created', value: known(count(created)) },
    {
      title: 'Failed',
      value: known(count(failed)),
      isBad: failed > 0,
      ...(failed > 0 && { href: historyPath({ code: 'failed' }) }),
    },
    {
      title: 'Refused',
      value: known(count(refused)),
      ...(taken > 0 && { more: `of which ${count(taken)} id taken` }),
      ...(refused > 0 && { href: historyPath({ code: 'refused' }) }),
    },
    {
      title: 'Slowest minute',
      value: slowest ? minuteClock(slowest.atMs) : known('–'),
      ...(slowest && {
        more: `p99 ${figure(slowest.p99Ms ?? 0)} ms`,
        href: historyPath({ hour: `${startOfHour(slowest.atMs)}` }),
      }),
    },
    {
      title: 'Starts',
      value: known(count(starts.length)),
      ...(lastStart !== undefined && {
        more: `the last ${minuteClock(lastStart)}`,
        href: historyPath({}),
      }),
    },
    {
      title: 'Without a service',
      value: known(minutesText(without)),
      isBad: without > 0,
      ...(without > 0 && { href: historyPath({}) }),
      ...(longestGap && { more: `${gaps.length > 1 ? 'the longest ' : ''}${gapText(longestGap)}` }),
    },
  ];
}

function lengthOf({ fromMs, toMs }: Gap): number {
  return toMs - fromMs;
}

function gapText({ fromMs, toMs }: Gap): string {
  return `${minuteClock(fromMs)}–${minuteClock(toMs)}`;
}

function minutesText(minutes: number): string {
  return minutes === 1 ? '1 minute' : `${count(minutes)} minutes`;
}
