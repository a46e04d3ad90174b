/** A part of a body, framed. */
interface Piece {
  readonly parts: readonly (string | Uint8Array)[];
  readonly isLast: boolean;
}

/** A body of unknown length. The source is read only as the client takes. */
export class StreamedBody {
  /** Bytes that wait for the replies before this one: the source has not been read yet. */
  readonly length = 0;
  /** Without chunks, only the end of the connection ends the body (RFC 9112 §6.3). */
  readonly isChunked: boolean;
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;

  /** @param version of the request: clients of HTTP/1.0 do not know chunks */
  constructor(source: ReadableStream<Uint8Array>, version: '1.0' | '1.1') {
    this.reader = source.getReader();
    this.isChunked = version === '1.1';
  }

  /** The header line that frames the body. */
  get line(): string {
    return this.isChunked ? 'Transfer-Encoding: chunked\r\n' : '';
  }

  /** Reads the source. @returns what goes on the wire (RFC 9112 §7.1) */
  async read(): Promise<Piece> {
    const { done, value } = await this.reader.read();
    if (done) return { parts: this.isChunked ? ['0\r\n\r\n'] : [], isLast: true };
    // An empty chunk would be the last one.
    if (value.length === 0) return { parts: [], isLast: false };
    const size = `${value.length.toString(16)}\r\n`;
    return { parts: this.isChunked ? [size, value, '\r\n'] : [value], isLast: false };
  }

  /** Cancels the source. A source that has ended takes no notice. */
  cancel(): void {
    this.reader.cancel().catch(() => undefined);
  }
}
