import { UsageError } from '../../config/values.ts';
import { excerpt } from '../../contract/excerpt.ts';
import { int64FromDigits } from '../../contract/int64.ts';
import { limits } from '../../limits.ts';
import type { Input } from '../../transfer/import-source.ts';
import { createRecordCutter, lineEnds, type RawRecord } from '../../transfer/record-cutter.ts';
import { CommandError } from '../command.ts';

const idRule = 'must be an integer from -9223372036854775808 to 9223372036854775807';

/** @throws UsageError */
export function typedId(digits: string): bigint {
  const id = int64FromDigits(digits);
  if (id !== undefined) return id;
  throw new UsageError(`ID ${idRule}; it is ${JSON.stringify(digits)}`);
}

/** The ids on standard input, one a line, while it is read. @throws CommandError for another line */
export async function* idsIn(input: Input): AsyncGenerator<bigint> {
  const cutter = createRecordCutter(lineEnds(), limits.cli.idLineBytesMax);
  for await (const chunk of input) yield* idsOf(cutter.cut(chunk));
  yield* idsOf(cutter.rest());
}

function* idsOf(lines: Iterable<RawRecord>): Generator<bigint> {
  for (const { line, bytes } of lines) {
    const text = bytes.toString().trim();
    if (text === '') continue;
    const id = int64FromDigits(text);
    if (id === undefined)
      throw new CommandError(`line ${line} of standard input ${idRule}; it is ${excerpt(text)}`);
    yield id;
  }
}
