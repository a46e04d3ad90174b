import { newPlantLine, parseNewPlant } from '../contract/plant.ts';
import { Refusal } from '../contract/problems.ts';
import { type Entry, FileError, type Format } from './format.ts';
import { createRecordCutter, lineEnds, type RawRecord } from './record-cutter.ts';

/**
 * A NewPlant on each line, as it could be sent. White space around it is JSON's own, the CR of a
 * CRLF among it.
 */
export const ndjson: Format = {
  head: '',
  write: (plant) => `${newPlantLine(plant)}\n`,
  openReader(recordBytesMax) {
    const cutter = createRecordCutter(lineEnds(), recordBytesMax);
    let isFirst = true;

    function* entries(records: Iterable<RawRecord>): Generator<Entry> {
      for (const record of records) {
        if (isBlank(record.bytes)) continue;
        if (isFirst) refuseOtherJson(record.bytes);
        isFirst = false;
        yield {
          record,
          plant: record.isTooLarge ? lineTooLarge(recordBytesMax) : parseNewPlant(record.bytes),
        };
      }
    }

    return { read: (chunk) => entries(cutter.cut(chunk)), end: () => entries(cutter.rest()) };
  },
};

function lineTooLarge(recordBytesMax: number): Refusal {
  return new Refusal(
    'bodyTooLarge',
    `The line takes more than ${recordBytesMax} bytes; a higher --body-limit allows it.`,
  );
}

const space = new Set([0x20, 0x09, 0x0d]);

function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => space.has(byte));
}

/** Both are common, and every line of them would be refused. */
function refuseOtherJson(firstLine: Buffer): void {
  const start = firstLine.toString('utf8', 0, 100).trim();
  if (start.startsWith('['))
    throw new FileError(
      `is a JSON array and not a plant on each line; make lines of it with: jq -c '.[]'`,
    );
  if (start === '{')
    throw new FileError(
      'has JSON that goes over several lines and not a plant on each line; make lines of it with: jq -c .',
    );
}
