import {
  type Attributes,
  type ComponentChildren,
  createElement,
  type JSX,
  type VNode,
} from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { distanceText } from '../../../quantity-text.ts';
import type { Time } from '../../contract.ts';

export type Children = ComponentChildren;
type Tags = JSX.IntrinsicElements;

/**
 * Makes an element or a component. Values are text, never markup. Unlike `h` of Preact, it does not
 * take a property that the tag or the component does not have.
 */
export function h<Tag extends keyof Tags>(
  tag: Tag,
  props: Tags[Tag],
  ...children: Children[]
): VNode;
export function h<Props>(
  component: (props: Props) => Children,
  props: NoInfer<Props> & Attributes,
): VNode;
export function h(type: unknown, props: object, ...children: Children[]): VNode {
  return createElement(type as string, props, ...children) as VNode;
}

/** A build gives the file another name. */
export const iconUrl = document.querySelector<HTMLLinkElement>('link[rel=icon]')?.href;

export function quiet(text: string): VNode {
  return h('span', { class: 'quiet' }, text);
}

export function localText(time: Time | number): string {
  return new Date(time).toLocaleString('sv-SE');
}

function utcText(time: Time): string {
  return `${new Date(time).toLocaleString('sv-SE', { timeZone: 'UTC' })} UTC`;
}

/** A time in the zone of the reader, with the time in UTC, as the log has it, in the title. */
export function When({ time }: { time: Time }) {
  return h('time', { dateTime: time, title: utcText(time) }, localText(time));
}

export function Distance({ time, or = '' }: { time: Time | null; or?: string }) {
  if (time === null) return quiet(or);
  const title = `${localText(time)} (${utcText(time)})`;
  return h('time', { dateTime: time, title }, distanceText(time, Date.now()));
}

/** Characters that are invisible or reorder others, but not joiners of letters and emoji. */
const unseen = /([[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]--[\u200c\u200d\u{e0020}-\u{e007f}]])/v;

/** A text of a client, with each invisible character as its code point. */
export function ExactText({ text }: { text: string }) {
  if (text === '') return quiet('(empty)');
  const pieces = text.split(unseen).map((piece, index) => {
    if (index % 2 === 0) return piece;
    const codePoint = piece.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0');
    return h(Badge, { tone: 'warning', text: `U+${codePoint}` });
  });
  return h('bdi', { class: 'exact' }, pieces);
}

type Tone = 'good' | 'warning' | 'bad' | '';

export function Badge({ tone, text }: { tone: Tone; text: string }) {
  return h('span', { class: `badge ${tone}` }, text);
}

/** An error. Screen readers say it at once. */
export function Failure({ error }: { error: Error | undefined }) {
  return h('div', { role: 'alert' }, error && h('p', { class: 'card note bad' }, error.message));
}

/** A result. Screen readers say it at the next pause. */
export function Result({ says }: { says: string }) {
  return h('div', { role: 'status' }, says !== '' && h('p', { class: 'card note' }, says));
}

export function Loading() {
  return h('p', { class: 'quiet loading', role: 'status' }, 'Loading…');
}

export interface Column<Row> {
  readonly head: string;
  /** Of the cells, if the column has a style of its own. */
  readonly kind?: string;
  readonly cell: (row: Row) => Children;
}

interface TableProps<Row> {
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
}

/** A table in a box that scrolls where the window is narrower; on a phone, a card for each row. */
export function table<Row>({ caption, columns, rows, rowKey }: TableProps<Row>): VNode {
  const heads = columns.map(({ head, kind }) => h('th', { scope: 'col', class: kind }, head));
  const rowOf = (row: Row) => {
    const cells = columns.map(({ head, kind, cell }, index) => {
      const props = { class: kind, 'data-head': head };
      return index === 0
        ? h('th', { scope: 'row', ...props }, cell(row))
        : h('td', props, cell(row));
    });
    return h('tr', { key: rowKey(row) }, cells);
  };
  return h(
    'div',
    { class: 'card', role: 'region', 'aria-label': caption, tabIndex: 0 },
    h(
      'table',
      { 'aria-label': caption },
      h('thead', {}, h('tr', {}, heads)),
      h('tbody', {}, rows.map(rowOf)),
    ),
  );
}

interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  /** Whether only a button inside closes it, and not Escape. */
  readonly isKept?: boolean;
  readonly children: Children;
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
  const onCancel = (event: Event) => {
    event.preventDefault();
    if (!isKept) onClose();
  };
  // Not all browsers know the attribute.
  const closedby = isKept ? 'none' : 'closerequest';
  return h(
    'dialog',
    { ref: dialog, class: 'card', 'aria-labelledby': 'dialog-title', closedby, onCancel },
    h('h2', { id: 'dialog-title' }, title),
    children,
  );
}

export type Fact = readonly [name: Children, says: Children];

/** @param kind `short` for facts that share a line */
export function Facts({ facts, kind }: { facts: readonly Fact[]; kind?: 'short' }) {
  const pairs = facts.map(([name, says]) => h('div', {}, h('dt', {}, name), h('dd', {}, says)));
  return h('dl', { class: `facts ${kind ?? ''}` }, pairs);
}

export function useAct() {
  const [isUnderWay, setUnderWay] = useState(false);
  const [error, setError] = useState<Error | undefined>();
  return {
    error,
    run(work: () => Promise<unknown>): void {
      if (isUnderWay) return;
      setUnderWay(true);
      setError(undefined);
      work()
        .catch(setError)
        .finally(() => setUnderWay(false));
    },
  };
}

interface FormDialogProps extends DialogProps {
  readonly verb: string;
  readonly isDangerous?: boolean;
  readonly onSubmit: (form: FormData) => Promise<unknown>;
}

/** A form in a dialog. The service says what is wrong in it. */
export function FormDialog({ title, verb, isDangerous, ...props }: FormDialogProps) {
  const { onSubmit, onClose, children } = props;
  const act = useAct();
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    act.run(() => onSubmit(form));
  };
  const form = h(
    'form',
    { onSubmit: submit },
    children,
    h(Failure, { error: act.error }),
    h(
      'p',
      { class: 'actions' },
      h('button', { type: 'button', onClick: () => onClose() }, 'Cancel'),
      h('button', { class: isDangerous ? 'main danger' : 'main' }, verb),
    ),
  );
  return h(Dialog, { title, onClose, children: form });
}

export function field(label: string, input: Tags['input']): VNode {
  return h('label', {}, label, h('input', { autoComplete: 'off', spellcheck: false, ...input }));
}

/** A text to be copied. */
export function Copyable({ label, text }: { label: string; text: string }) {
  const shown = useRef<HTMLTextAreaElement>(null);
  const [copied, setCopied] = useState('');
  useLayoutEffect(() => shown.current?.select(), []);
  const copy = () => {
    shown.current?.select();
    // A page has a clipboard only by TLS or from this machine.
    const copying = navigator.clipboard?.writeText(text) ?? Promise.reject();
    copying.then(
      () => setCopied('Copied.'),
      () => setCopied('The text is selected: press Ctrl+C.'),
    );
  };
  const rows = text.split('\n').length;
  return [
    h('textarea', { ref: shown, class: 'mono', readOnly: true, rows, 'aria-label': label }, text),
    h('div', { class: 'row' }, h('button', { onClick: copy }, 'Copy'), h(Result, { says: copied })),
  ];
}

/** A choice with its label. @param chosen the value of the choice at first */
export function choice(
  label: string,
  choices: readonly { readonly value: string; readonly text: string }[],
  select: Tags['select'],
  chosen = '',
): VNode {
  const options = choices.map(({ value, text }) =>
    h('option', { value, selected: value === chosen }, text),
  );
  return h('label', {}, label, h('select', select, options));
}
