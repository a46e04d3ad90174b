const lineFeed = 0x0a;

/** The bytes of one line of a file, or of one CSV record, without the line feed that ends it. */
export interface RawRecord {
  /** The line of the file in which it begins, counted from 1. */
  readonly line: number;
  readonly bytes: Buffer;
  /** `bytes` may then be its beginning only. */
  readonly isTooLarge: boolean;
}

/** Finds the ends of records in chunks that come one after the other. */
export interface RecordEnds {
  /** @returns where the line feed is that ends the record, or -1 if that is in a later chunk */
  find(chunk: Buffer, from: number): number;
  /** Line feeds that have been passed in all. */
  readonly linesPassed: number;
}

/** Every line feed ends a record. */
export function lineEnds(): RecordEnds {
  let linesPassed = 0;
  return {
    find(chunk, from) {
      const end = chunk.indexOf(lineFeed, from);
      if (end >= 0) linesPassed += 1;
      return end;
    },
    get linesPassed() {
      return linesPassed;
    },
  };
}

export interface RecordCutter {
  /**
   * The records that end in this chunk. It is to be asked for the next one when the one before has
   * been seen to.
   */
  cut(chunk: Buffer): Iterable<RawRecord>;
  /** The last record, if no line feed ends it. */
  rest(): Iterable<RawRecord>;
}

/**
 * @param bytesMax of a record. However long one is, little more than that is kept of it, and the
 * next one is found.
 */
export function createRecordCutter(ends: RecordEnds, bytesMax: number): RecordCutter {
  let line = 1;
  let begun: Buffer[] = [];
  let begunBytes = 0;

  function begin(part: Buffer): void {
    if (begunBytes <= bytesMax) begun.push(part);
    begunBytes += part.length;
  }

  function record(last: Buffer): RawRecord {
    if (begunBytes === 0) return { line, bytes: last, isTooLarge: last.length > bytesMax };
    begin(last);
    const whole = { line, bytes: Buffer.concat(begun), isTooLarge: begunBytes > bytesMax };
    begun = [];
    begunBytes = 0;
    return whole;
  }

  return {
    *cut(chunk) {
      let from = 0;
      for (let end = ends.find(chunk, from); end >= 0; end = ends.find(chunk, from)) {
        yield record(chunk.subarray(from, end));
        line = 1 + ends.linesPassed;
        from = end + 1;
      }
      begin(chunk.subarray(from));
    },
    *rest() {
      if (begunBytes > 0) yield record(Buffer.alloc(0));
    },
  };
}
