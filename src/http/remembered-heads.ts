import { Refusal } from '../contract/problems.ts';
import { limits } from '../limits.ts';
import { type RequestHead, readHead } from './request-head.ts';

/**
 * The heads of a listener, by their text. Clients repeat their heads, and a lookup takes a third of
 * the time of a read.
 */
export class RememberedHeads {
  private readonly heads = new Map<string, RequestHead>();
  private chars = 0;

  /**
   * Reads the head in `bytes` from `start` to `end`, as `readHead` does. The value of `traceparent`
   * may be missing in `fields`.
   */
  read(bytes: Buffer, start: number, end: number): RequestHead | Refusal {
    const text = bytes.toString('latin1', start, end);
    const at = findTraceparent(text);
    if (at === undefined) return this.recall(text);
    // Clients repeat all but this value. To read and remember each head would take 9 µs; this takes
    // 0.5 µs.
    const head = this.recall(text.slice(0, at) + text.slice(at + traceparentChars));
    // Undefined if the head has a second `traceparent`.
    if (head instanceof Refusal || head.traceparent === undefined) return head;
    // A copy: a part of `text` keeps the whole head in memory.
    const from = start + at;
    return { ...head, traceparent: bytes.toString('latin1', from, from + traceparentChars) };
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
    if (
      this.heads.size >= limits.http.rememberedHeads ||
      this.chars + text.length > limits.http.rememberedBytes
    ) {
      this.heads.clear();
      this.chars = 0;
    }
    this.heads.set(text, head);
    this.chars += text.length;
  }
}

/** The value has no character for which a head is refused. */
const traceparentLine = /\r\n[Tt]raceparent: [0-9a-f-]{55}(?:\r\n|$)/y;
const traceparentChars = 55;

/** @returns where the value of the first `traceparent` starts */
function findTraceparent(text: string): number | undefined {
  // A search for a text is three times as fast as a search for the line.
  const found = text.indexOf('raceparent: ');
  if (found < 0) return undefined;
  traceparentLine.lastIndex = found - '\r\nT'.length;
  return traceparentLine.test(text) ? found + 'raceparent: '.length : undefined;
}
