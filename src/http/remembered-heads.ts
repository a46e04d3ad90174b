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

  /** As `readHead`. */
  read(text: string): RequestHead | Refusal {
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
