const lineFeed = 0x0a;

/** The bytes of one line, or of one CSV record, without the line feed at the end. */
export interface RawRecord {
  /** The line in which the record begins, counted from 1. */
  readonly line: number;
  readonly bytes: Buffer;
  /** `bytes` may then be the start of the record only. */
  readonly isTooLarge: boolean;
}

/** Finds the ends of records in consecutive chunks. */
export interface RecordEnds {
  /** @returns the position of the line feed that ends the record; -1 if a later chunk has it */
  find(chunk: Buffer, from: number): number;
  readonly linesPassed: number;
}

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

/** @param bytesMax of a record. Not much more of a larger record is kept. */
export function createRecordCutter(ends: RecordEnds, bytesMax: number) {
  let line = 1;
  let begun: Buffer[] = [];
  let begunBytes = 0;

  function begin(part: Buffer): void {
    // An empty part would keep the memory of its chunk.
    if (part.length === 0) return;
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
    /** The records that end in this chunk. Consume each record before the next. */
    *cut(chunk: Buffer): Iterable<RawRecord> {
      let from = 0;
      for (let end = ends.find(chunk, from); end >= 0; end = ends.find(chunk, from)) {
        yield record(chunk.subarray(from, end));
        line = 1 + ends.linesPassed;
        from = end + 1;
      }
      begin(chunk.subarray(from));
    },
    /** The last record, if no line feed ends it. */
    *rest(): Iterable<RawRecord> {
      if (begunBytes > 0) yield record(Buffer.alloc(0));
    },
  };
}
