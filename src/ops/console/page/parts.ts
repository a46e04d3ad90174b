import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Time } from './api.ts';
import { distance, localTime } from './format.ts';
import { type Children, html } from './html.ts';

/** What went wrong, said at once by screen readers. */
export function Failure({ error }: { error: Error | undefined }) {
  return html`<div role="alert">${error && html`<p class="note bad">${error.message}</p>`}</div>`;
}

/** What came of something, said when there is a pause. */
export function Result({ children }: { children?: Children }) {
  return html`<div role="status">${children && html`<p class="note">${children}</p>`}</div>`;
}

/** When something was or will be: how far away, with the exact time. */
export function When({ time, or }: { time: Time | null; or: string }) {
  if (time === null) return html`<span class="quiet">${or}</span>`;
  return html`<time datetime=${time} title=${time}>${localTime(time)} <span class="quiet">${distance(time)}</span></time>`;
}

/**
 * Characters that cannot be seen, or would reorder others; those that join letters and emoji stay.
 */
const unseen = /([[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\n\u200c\u200d\u{e0020}-\u{e007f}]])/v;
const excerptChars = 200;

/**
 * A text of a client exactly as it is, whatever that is. A line break takes one where there is
 * room, and is a sign in an excerpt.
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
}

interface TableProps<Row> {
  readonly caption: string;
  /** The first is the head of its row. */
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
}

/**
 * A table; on a phone each row becomes a card. The roles are said because the style that does so
 * takes them away.
 */
export function Table<Row>({ caption, columns, rows, rowKey }: TableProps<Row>) {
  const cellOf = ({ head, cell }: Column<Row>, index: number, row: Row) =>
    index === 0
      ? html`<th role="rowheader" scope="row" data-head=${head}>${cell(row)}</th>`
      : html`<td role="cell" data-head=${head}><div>${cell(row)}</div></td>`;
  return html`
    <table role="table">
      <caption class="unseen">${caption}</caption>
      <thead role="rowgroup">
        <tr role="row">${columns.map(({ head }) => html`<th role="columnheader" scope="col">${head}</th>`)}</tr>
      </thead>
      <tbody role="rowgroup">
        ${rows.map((row) => html`<tr role="row" key=${rowKey(row)}>${columns.map((column, index) => cellOf(column, index, row))}</tr>`)}
      </tbody>
    </table>`;
}

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** Whether it closes only by a button of its own. */
  readonly isKept?: boolean;
  readonly children?: Children;
}

/**
 * A dialog that is open as long as it is there. It holds the focus, and gives it back when it
 * closes, which its removal alone would not.
 */
export function Dialog({ title, onClose, isKept = false, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Of the layout effects it is certain that they end before the element is removed.
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

/** Pairs of a name and what it says. */
export function Facts({ facts }: { facts: readonly (readonly [name: string, says: Children])[] }) {
  return html`<dl class="facts">${facts.map(([name, says]) => html`<div><dt>${name}</dt><dd>${says}</dd></div>`)}</dl>`;
}
