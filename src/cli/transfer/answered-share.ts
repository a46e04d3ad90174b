import type { Source } from '../../transfer/import-source.ts';
import type { RawRecord } from '../../transfer/record-cutter.ts';

/**
 * The part of a file that is answered, from 0 to 1. A source is read ahead of the replies: a small
 * file is read whole before the first of them.
 */
export interface AnsweredShare {
  /** Those of the source. */
  readonly chunks: AsyncIterable<Buffer>;
  /** Takes each record once, when its outcome is known. */
  answer(record: RawRecord): void;
  /** Undefined for a pipe. */
  now(): number | undefined;
}

export function answeredShare(source: Source): AnsweredShare {
  let readBytes = 0;
  let answeredBytes = 0;

  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of source.chunks) {
      readBytes += chunk.length;
      yield chunk;
    }
  }

  return {
    chunks: counted(),
    answer({ bytes }) {
      answeredBytes += bytes.length + lineEndBytes;
    },
    now() {
      if (source.bytes === undefined) return undefined;
      if (readBytes === 0) return 0;
      // The size of a compressed file tells nothing of its text, so each part of the text read so
      // far stands for as large a part of the bytes.
      return (source.bytesRead() / source.bytes) * Math.min(1, answeredBytes / readBytes);
    },
  };
}

const lineEndBytes = 1;
