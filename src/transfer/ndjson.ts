import { newPlantLine, parseNewPlant } from '../contract/plant.ts';
import { Refusal } from '../contract/problems.ts';
import { type Entry, FileError, type Format } from './format.ts';
import { createRecordCutter, lineEnds, type RawRecord } from './record-cutter.ts';

/** A NewPlant on each line, as in a request body. JSON allows white space around it, such as CR. */
export const ndjson: Format = {
  head: () => '',
  write: (plant, details) => `${newPlantLine(plant, details && { ...details })}\n`,
  openReader(recordBytesMax) {
    const cutter = createRecordCutter(lineEnds(), recordBytesMax);
    let isFirst = true;

    function* entries(records: Iterable<RawRecord>): Generator<Entry> {
      for (const record of records) {
        if (record.bytes.every((byte) => space.has(byte))) continue;
        if (isFirst) refuseOtherJson(record.bytes);
        isFirst = false;
        const plant = record.isTooLarge
          ? new Refusal(
              'bodyTooLarge',
              `The line takes more than ${recordBytesMax} bytes; a higher --body-limit allows it.`,
            )
          : parseNewPlant(record.bytes);
        yield { record, plant };
      }
    }

    return { read: (chunk) => entries(cutter.cut(chunk)), end: () => entries(cutter.rest()) };
  },
};

const space = new Set([0x20, 0x09, 0x0d]);

/** These are common mistakes, and every line would be refused. */
function refuseOtherJson(firstLine: Buffer): void {
  const start = firstLine.toString('utf8', 0, 100).trim();
  if (start.startsWith('['))
    throw new FileError(
      `is a JSON array and not a plant on each line; convert it with: jq -c '.[]'`,
    );
  // UTF-16 is not UTF-8, and a line that was cut at its start has the end of a plant.
  if (/^[^{\ufffd].*[,;\t]/s.test(start) && !firstLine.toString().trimEnd().endsWith('}'))
    throw new FileError(
      'is a table and not a plant on each line; add --format csv, or --format tsv if tabs ' +
        'separate the cells and quotes are plain',
    );
  if (start === '{')
    throw new FileError(
      'has JSON over several lines and not a plant on each line; convert it with: jq -c .',
    );
}
