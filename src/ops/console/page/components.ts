import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Time } from '../../contract.ts';
import { distance, localMoment, utcBeside, utcTime, zoneAt, zoneNow } from './format.ts';
import { type Children, html } from './html.ts';

/** An error. Screen readers say it at once. */
export function Failure({ error }: { error: Error | undefined }) {
  return html`<div role="alert">${error && html`<p class="note bad">${error.message}</p>`}</div>`;
}

/** A result. Screen readers say it at the next pause. */
export function Result({ tone = '', children }: { tone?: 'bad' | ''; children?: Children }) {
  return html`<div role="status">${children && html`<p class="note ${tone}">${children}</p>`}</div>`;
}

/** Keeps the place of what has not arrived yet, so that nothing jumps when it does. */
export function Skeleton({ rows }: { rows: number }) {
  return html`
    <div class="skeleton">
      <span class="unseen" role="status">Loading…</span>
      ${Array.from({ length: rows }, () => html`<span class="line"></span>`)}
    </div>`;
}

interface LocalTimeProps {
  readonly time: Time;
  /** The seconds are not known. */
  readonly isMinute?: boolean;
  readonly children?: Children;
}

/**
 * A time with its zone, and in the title as UTC. In a table, the head of the column has the zone of
 * today, so the style hides the same zone in the cells.
 */
export function LocalTime({ time, isMinute = false, children }: LocalTimeProps) {
  const zone = zoneAt(time);
  const shown = (text: string) => (isMinute ? text.replace(/(:\d\d):\d\d/, '$1') : text);
  return html`<time datetime=${time} title=${shown(utcTime(time))}><span class="moment">${shown(localMoment(time))}</span> <span class="zone ${zone === zoneNow() ? 'usual' : ''}">${zone}</span>${children}</time>`;
}

interface WhenProps {
  readonly time: Time | null;
  /** Shown without a time. */
  readonly or: string;
  /** Whether the time in UTC stands beside it, as the log has it. */
  readonly hasUtc?: boolean;
}

/** A time, and its distance from now. */
export function When({ time, or, hasUtc = false }: WhenProps) {
  if (time === null) return html`<span class="quiet">${or}</span>`;
  const utc =
    hasUtc && zoneAt(time) !== 'UTC' && html`<span class="quiet">${utcBeside(time)},</span> `;
  return html`<${LocalTime} time=${time}> ${utc}<span class="quiet">${distance(time)}</span><//>`;
}

/** Characters that are invisible or reorder others, but not joiners of letters and emoji. */
const unseen = /([[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\n\u200c\u200d\u{e0020}-\u{e007f}]])/v;
const excerptChars = 200;

/**
 * A text of a client, with each invisible character as its code point. In an excerpt, a line break
 * is a sign.
 */
export function ExactText({ text, isExcerpt = false }: { text: string; isExcerpt?: boolean }) {
  if (text === '') return html`<span class="quiet">(empty)</span>`;
  const isCut = isExcerpt && text.length > excerptChars;
  const shown = isExcerpt ? text.slice(0, excerptChars).replaceAll('\n', '↵') : text;
  const pieces = shown
    .split(unseen)
    .map((piece, index) =>
      index % 2 === 0 ? piece : html`<span class="code-point">${codePoint(piece)}</span>`,
    );
  return html`<bdi class="exact">${pieces}${isCut && '…'}</bdi>`;
}

function codePoint(character: string): string {
  return `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;
}

export interface Column<Row> {
  readonly head: string;
  readonly cell: (row: Row) => Children;
  /** Numbers stand below each other digit by digit. */
  readonly isNumber?: true;
  /** The head says the time zone. */
  readonly isTime?: true;
  /** The head orders the rows. */
  readonly sort?: Sort;
}

interface Sort {
  readonly direction: 'ascending' | 'descending' | 'none';
  readonly onSort: () => void;
}

interface TableProps<Row> {
  readonly caption: string;
  /** The first column is the head of a row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
}

/** A table. Roles are explicit, because the style of cards on a phone would remove them. */
export function Table<Row>({ caption, columns, rows, rowKey }: TableProps<Row>) {
  const kindOf = ({ isNumber }: Column<Row>) => isNumber && 'number';
  const headOf = ({ head, isTime, sort }: Column<Row>) => {
    const title = sort ? html`<button class="sort" onClick=${sort.onSort}>${head}</button>` : head;
    return isTime ? html`${title} <span class="quiet">${zoneNow()}</span>` : title;
  };
  const cellOf = (column: Column<Row>, index: number, row: Row) =>
    index === 0
      ? html`<th role="rowheader" scope="row" class=${kindOf(column)} data-head=${column.head}>${column.cell(row)}</th>`
      : html`<td role="cell" class=${kindOf(column)} data-head=${column.head}><div>${column.cell(row)}</div></td>`;
  return html`
    <table role="table">
      <caption class="unseen">${caption}</caption>
      <thead role="rowgroup">
        <tr role="row">${columns.map((column) => html`<th role="columnheader" scope="col" class=${kindOf(column)} aria-sort=${column.sort?.direction}>${headOf(column)}</th>`)}</tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map((row) => html`<tr role="row" key=${rowKey(row)}>${columns.map((column, index) => cellOf(column, index, row))}</tr>`)}
      </tbody>
    </table>`;
}

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** Whether only a button inside closes it, and not Escape. */
  readonly isKept?: boolean;
  readonly children?: Children;
}

/** A modal dialog, open while it is rendered. Closing it returns the focus; removal would not. */
export function Dialog({ title, onClose, isKept = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // A layout effect ends before the element is removed.
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    return () => shown?.close();
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  return html`
    <dialog ref=${dialog} aria-labelledby="dialog-title" closedby=${isKept ? 'none' : 'closerequest'} onCancel=${cancel}>
      <h2 id="dialog-title">${title}</h2>
      ${children}
    </dialog>`;
}

export function Facts({ facts }: { facts: readonly (readonly [name: string, says: Children])[] }) {
  return html`<dl class="facts">${facts.map(([name, says]) => html`<div><dt>${name}</dt><dd>${says}</dd></div>`)}</dl>`;
}
