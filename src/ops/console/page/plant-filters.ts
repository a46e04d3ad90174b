import { useState } from 'preact/hooks';
import { int64FromDigits } from '../../../contract/int64.ts';
import { limits } from '../../../limits.ts';
import { listedTokenName, namesOfNoToken } from '../../../store/tokens.ts';
import type { TokenList } from '../../contract.ts';
import { zoneAt, zoneNow } from './format.ts';
import { html } from './html.ts';
import { Jump } from './jump.ts';
import type { PlantView, TimeFault } from './plant-view.ts';

type Change = (change: Partial<PlantView>) => void;
type InputEvent = { readonly currentTarget: HTMLInputElement };

interface FiltersProps {
  readonly typed: PlantView;
  readonly names: readonly string[];
  readonly fault: TimeFault | undefined;
  /** Called while the operator types. */
  readonly onType: Change;
  /** Called for what is chosen at once. */
  readonly onChoose: Change;
}

export function PlantFilters({ typed, names, fault, onType, onChoose }: FiltersProps) {
  const [isOpened, setOpened] = useState(false);
  // A field with a fault is shown.
  const areMoreShown = isOpened || fault !== undefined;
  const { name: _, order: __, at: ___, ...more } = typed;
  const inForce = Object.values(more).filter((value) => value !== '').length;
  const text = (name: 'name' | 'tag' | 'createdBy', label: string, list?: string) => html`
    <label>${label}
      <input name=${name} value=${typed[name]} list=${list} maxlength=${limits.ops.searchTextCharsMax}
        autocomplete="off" spellcheck=${false}
        onInput=${({ currentTarget }: InputEvent) => onType({ [name]: currentTarget.value })} />
    </label>`;
  const time = (name: 'since' | 'until', label: string) => html`
    <label><span>${label} <span class="quiet">${zoneOf(typed[name])}</span></span>
      <input type="datetime-local" step="1" name=${name} value=${localInput(typed[name])}
        aria-invalid=${fault?.field === name} aria-describedby="times-say"
        onInput=${({ currentTarget }: InputEvent) => onType({ [name]: isoTime(currentTarget.value) })} />
    </label>`;
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    onChoose(typed);
  };
  return html`
    <form role="search" class="plant-filters" onSubmit=${submit}>
      ${text('name', 'Name contains')}
      <button type="button" class="more" aria-expanded=${areMoreShown} aria-controls="more-filters" onClick=${() => setOpened(!areMoreShown)}>
        ${areMoreShown ? 'Fewer filters' : 'More filters'}${inForce > 0 && ` (${inForce} in force)`}</button>
      <div id="more-filters" class=${areMoreShown ? 'shown' : ''}>
        ${text('tag', 'Tag')} ${text('createdBy', 'Created by', 'creators')}
        ${time('since', 'Since')} ${time('until', 'Until')}
        <datalist id="creators">${names.map((name) => html`<option value=${name}></option>`)}</datalist>
        <div class="choices" role="group" aria-label="Times">
          ${spans.map((span) => html`<button type="button" class="small" title=${span.words} aria-pressed=${isChosen(span, typed)} onClick=${() => onChoose(span.between(new Date()))}>${span.title}</button>`)}
        </div>
        <div id="times-say" class="times-say" role="alert">${fault && html`<p class="note bad">${fault.says}</p>`}</div>
        <label class="switch"><input type="checkbox" checked=${typed.ignoreCase === 'true'}
          onChange=${({ currentTarget }: InputEvent) => onChoose({ ignoreCase: currentTarget.checked ? 'true' : '' })} />
          Ignore case in name and tag</label>
      </div>
      <button class="submit">Search</button>
    </form>`;
}

/** Names that plants of this store can have as their creators. */
export function creatorsIn(tokens: TokenList | undefined): readonly string[] {
  const ofTokens = tokens?.tokens.map(({ name }) => listedTokenName(name)) ?? [];
  return [...new Set([...ofTokens, ...namesOfNoToken])];
}

type Between = Pick<PlantView, 'since' | 'until'>;

const minuteMs = 60_000;
const evening = 18;
const morning = 8;

interface TimeSpan {
  readonly title: string;
  readonly words?: string;
  between(now: Date): Between;
}

const spans: readonly TimeSpan[] = [
  { title: 'Last 15 min', between: (now) => lastMinutes(now, 15) },
  { title: 'Last hour', between: (now) => lastMinutes(now, 60) },
  { title: 'Last 24 h', between: (now) => lastMinutes(now, 24 * 60) },
  {
    title: `Last night, ${evening} to ${morning}`,
    words: `From ${evening}:00 to ${morning}:00`,
    between: (now) => ({ since: isoAt(now, -1, evening), until: isoAt(now, 0, morning) }),
  },
  { title: 'Any time', between: () => ({ since: '', until: '' }) },
];

/** The times of a filter stay while the clock goes on, so they are those of a span for a while. */
const chosenMs = 5 * minuteMs;

function isChosen({ between }: TimeSpan, { since, until }: Between): boolean {
  const now = between(new Date());
  const isNear = (one: string, other: string) =>
    one === other || Math.abs(Date.parse(one) - Date.parse(other)) < chosenMs;
  return isNear(since, now.since) && isNear(until, now.until);
}

function lastMinutes(now: Date, minutes: number): Between {
  const since = new Date(now.getTime() - minutes * minuteMs);
  since.setMilliseconds(0);
  return { since: since.toISOString(), until: '' };
}

function isoAt(now: Date, days: number, hour: number): string {
  return new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, hour).toISOString();
}

/** The value of a field for a local time; empty for a text that is no time. */
function localInput(iso: string): string {
  const time = new Date(iso);
  return Number.isNaN(time.getTime()) ? '' : time.toLocaleString('sv-SE').replace(' ', 'T');
}

/** The zone in which a field has its time; that of today for a text that is no time. */
function zoneOf(iso: string): string {
  return Number.isNaN(Date.parse(iso)) ? zoneNow() : zoneAt(iso);
}

function isoTime(localValue: string): string {
  return localValue === '' ? '' : new Date(localValue).toISOString();
}

/** Goes to the plant with an id. */
export function JumpToId() {
  return html`<${Jump} field="Id" pathOf=${(id: string) => `/plants/${idIn(id)}`} faultOf=${faultOfId} />`;
}

/** Digits in threes with one separator, as people and spreadsheets write them: `1,001,803`. */
const grouped = /^-?\d{1,3}(?:([ ,._'’\u00a0\u202f])\d{3})(?:\1\d{3})*$/;

function idIn(text: string): bigint | undefined {
  return int64FromDigits(grouped.test(text) ? text.replace(/[^-\d]/g, '') : text);
}

function faultOfId(text: string): string | false {
  if (idIn(text) !== undefined) return false;
  return `${text === '' ? 'An empty id' : `“${text}”`} is not an integer within int64.`;
}
