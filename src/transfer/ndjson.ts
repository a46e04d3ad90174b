import { newPlantLine, parseNewPlant } from '../contract/plant.ts';
import { Refusal } from '../contract/problems.ts';
import type { Entry, Format } from './format.ts';
import { createRecordCutter, lineEnds, type RawRecord } from './record-cutter.ts';

/** A NewPlant on each line, as in a request body. JSON allows white space around it, such as CR. */
export const ndjson: Format = {
  head: () => '',
  write: (plant, details) => `${newPlantLine(plant, details && { ...details })}\n`,
  openReader(recordBytesMax) {
    const cutter = createRecordCutter(lineEnds(), recordBytesMax);

    function* entries(records: Iterable<RawRecord>): Generator<Entry> {
      for (const record of records) {
        if (record.bytes.every((byte) => space.has(byte))) continue;
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
