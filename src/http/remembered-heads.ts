import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import { labelCharsMax, type RequestHead, readHead } from './request-head.ts';

/** The usual form of the label. No value of this form makes a head malformed. */
const labelLine = new RegExp(
  `\\r\\n[tT]raceparent: ([0-9a-z-]{1,${labelCharsMax}})(?:\\r\\n|$)`,
  'y',
);
const labelEnd = 'raceparent: ';

/** Heads by their text: clients repeat heads, and a lookup takes a third of the time of a read. */
export class RememberedHeads {
  private readonly heads = new Map<string, RequestHead>();
  private bytes = 0;

  /** As `readHead`, from `start` to `end`. The value of the label may be missing in `fields`. */
  read(bytes: Buffer, start: number, end: number): RequestHead | Refusal {
    const text = bytes.toString('latin1', start, end);
    const label = findLabel(text);
    if (label === undefined) return this.recall(text);
    // Clients repeat all but this value. To read and remember each head would take 9 µs; this
    // takes 0.5 µs.
    const { at, length } = label;
    const head = this.recall(text.slice(0, at) + text.slice(at + length));
    // Undefined if the head has a second label.
    if (head instanceof Refusal || head.label === undefined) return head;
    // A copy: a part of `text` keeps the whole head in memory.
    return { ...head, label: bytes.toString('latin1', start + at, start + at + length) };
  }

  private recall(text: string): RequestHead | Refusal {
    const known = this.heads.get(text);
    if (known) return known;
    const head = readHead(text);
    if (!(head instanceof Refusal) && text.length <= limits.http.rememberedHeadBytes)
      this.remember(text, head);
    return head;
  }

  private remember(text: string, head: RequestHead): void {
    const lines = head.fields.values().reduce((sum, { length }) => sum + length, 0);
    // The head itself takes as much as two lines.
    const bytes = text.length + (lines + 2) * limits.http.rememberedLineBytes;
    if (this.bytes + bytes > limits.http.rememberedBytes) {
      this.heads.clear();
      this.bytes = 0;
    }
    this.heads.set(text, head);
    this.bytes += bytes;
  }
}

function findLabel(text: string): { at: number; length: number } | undefined {
  // A search for a text is three times as fast as a search for the line.
  const found = text.indexOf(labelEnd);
  if (found < 0) return undefined;
  labelLine.lastIndex = found - '\r\nT'.length;
  const value = labelLine.exec(text)?.[1];
  if (value === undefined) return undefined;
  return { at: found + labelEnd.length, length: value.length };
}
