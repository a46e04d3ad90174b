import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { int64Max, int64Min } from '../../src/contract/int64.ts';
import type { NewPlant } from '../../src/contract/plant.ts';
import { problems, Refusal } from '../../src/contract/problems.ts';
import type { Entry, Format } from '../../src/transfer/format.ts';
import { type FormatName, formats } from '../../src/transfer/formats.ts';
import { storableCharacter } from '../contract/json-text.ts';
import { heapBytes } from '../helpers/heap.ts';

function entriesOf(
  format: Format,
  file: string | Buffer,
  chunkBytes: number,
  recordBytesMax = 1e4,
  quotes?: boolean,
) {
  const bytes = Buffer.from(file);
  const reader = format.openReader(recordBytesMax, { quotes });
  const entries: Entry[] = [];
  for (let from = 0; from < bytes.length; from += chunkBytes)
    entries.push(...reader.read(bytes.subarray(from, from + chunkBytes)));
  return [...entries, ...reader.end()];
}

/** What a file says when it comes in chunks of `chunkBytes`, a line each. */
function readAll(format: Format, file: string | Buffer, chunkBytes = 1 << 20, quotes?: boolean) {
  return entriesOf(format, file, chunkBytes, 1_000, quotes).map(({ record, plant }) => {
    if (plant instanceof Refusal)
      return `${record.line}: ${problems[plant.problem].code} ${plant.message}`;
    return `${record.line}: ${plant.id} ${JSON.stringify([plant.name, plant.tag])}`;
  });
}

const text = fc.oneof(
  fc.constant('\\N'),
  fc.string({ unit: storableCharacter }),
  fc.string({ unit: fc.constantFrom('"', ',', ';', '\r', '\n', '\t', ' ', '\\', '🌱', '\u2028') }),
);
const plants: fc.Arbitrary<NewPlant[]> = fc.array(
  fc.record(
    {
      id: fc.bigInt({ min: int64Min, max: int64Max }),
      name: text,
      tag: fc.option(text, { nil: undefined }),
    },
    { noNullPrototype: true },
  ),
);

for (const name of ['ndjson', 'csv'] satisfies FormatName[]) {
  const format = formats[name];

  test(`${name}: any plants are read back as they were written, however the file is cut into chunks`, () => {
    fc.assert(
      fc.property(plants, fc.integer({ min: 1, max: 40 }), (written, chunkBytes) => {
        let line = format.head(false).split('\n').length;
        const lines = written.map((plant) => {
          const at = line;
          line += format.write(plant).split('\n').length - 1;
          return at;
        });
        const file = format.head(false) + written.map((plant) => format.write(plant)).join('');
        const read = entriesOf(format, file, chunkBytes);
        const found = read.map(({ plant, record }) => [plant, record.line]);
        const expected = written.map((plant, index) => [plant, lines[index]]);
        assert.deepEqual(found, expected);
      }),
    );
  });

  test(`${name}: a record of more than the limit is refused with its line, and the next is read`, () => {
    const line = (id: bigint, chars: number) =>
      format.write({ id, name: 'x'.repeat(chars), tag: undefined });
    const file = format.head(false) + line(1n, 9) + line(2n, 5_000) + line(3n, 9) + line(4n, 1_001);
    const start = name === 'csv' ? 2 : 1;
    const expected = ['1 ["xx', '41300 ', '3 ["xx', '41300 '].map(
      (text, index) => `${start + index}: ${text}`,
    );
    for (const chunkBytes of [1, 300, 1 << 20]) {
      const found = readAll(format, file, chunkBytes).map((entry) => entry.slice(0, 9));
      assert.deepEqual(found, expected);
    }
  });
}

describe('NDJSON of other programs', () => {
  const read = (file: string | Buffer) => readAll(formats.ndjson, file);

  test('blank lines, CRLF and a last line without an end are read', () => {
    const file =
      '\n{"id":1,"name":"a"}\r\n \t\r\n\r\n{ "name": "b", "more": [1], "id": 2, "tag": "" }';
    assert.deepEqual(read(file), ['2: 1 ["a",null]', '5: 2 ["b",""]']);
  });

  test('each line is held to what a body is held to', () => {
    const codes = {
      '{"id":1}': 40001,
      '{"id":1e30,"name":"a"}': 40002,
      '{"id":1,"name":"\\u0000"}': 40003,
      '{"id":1,"name":"a","name":"b"}': 40000,
      '{"id":1,"name":"\xe9"}': 40000,
    };
    const file = Buffer.from(`${Object.keys(codes).join('\n')}\n{"id":1e3,"name":"a"}`, 'latin1');
    const found = read(file).map((entry) => Number(entry.split(' ')[1]));
    assert.deepEqual(found, [...Object.values(codes), 1_000]);
  });

  test('JSON that is not a plant on each line is refused as a whole, with the way out', () => {
    assert.throws(() => read('[{"id":1,"name":"a"}]'), {
      name: 'FileError',
      message: /is a JSON array .* jq -c '\.\[\]'$/,
    });
    assert.throws(() => read('{\n  "id": 1,\n  "name": "a"\n}\n'), /several lines .* jq -c \.$/);
    assert.throws(
      () => read('taxonID\tname\n1\ta\n'),
      /is a table .*; add --format csv, or --format tsv /,
    );
    assert.match(`${read('lder","tag":"x"}\n{"id":2,"name":"b"}')}`, /^1: 40000 .*,2: 2 \["b"/);
  });
});

describe('CSV of other programs', () => {
  const read = (file: string | Buffer) => readAll(formats.csv, file);

  const files: Readonly<Record<string, readonly [file: string, plants: readonly string[]]>> = {
    'LF, other order and other columns': [
      'tag,note,name,id\nx,n,a,1\n,,b,2\n',
      ['2: 1 ["a","x"]', '3: 2 ["b",null]'],
    ],
    'semicolons and capitals, and a line for Excel before the header': [
      'sep=;\r\nID;Name;Tag\r\n1;a, b;x\r\n2;c;\r\n',
      ['3: 1 ["a, b","x"]', '4: 2 ["c",null]'],
    ],
    'tabs, and quotes that make no difference': [
      'id\tnote\tname\n1\t"b"\t5" a,b\n\n3\t\t\n',
      ['2: 1 ["5\\" a,b",null]', '4: 40001 `name` is empty; an empty name is written as "".'],
    ],
    'the index of pandas, and numbers that became floats': [
      ',id,name,tag\n0,1.0,a,\n1,-2.0,b,y\n',
      ['2: 1 ["a",null]', '3: -2 ["b","y"]'],
    ],
    'a quote within a cell': ['id,name,tag\n1,5" pot,"x"\n', ['2: 1 ["5\\" pot","x"]']],
    'rows that are cut short, and empty ones': [
      '\n \r\nid,name,tag\n1,a\n,,\n\n"",""\n2,b,,,\n',
      ['4: 1 ["a",null]', '8: 2 ["b",null]'],
    ],
    'ids with space and zeros, and no line end': [
      'id,name\n -5 , a \n007,b',
      ['2: -5 [" a ",null]', '3: 7 ["b",null]'],
    ],
  };
  for (const [what, [file, expected]] of Object.entries(files)) {
    test(`with ${what} is read`, () => {
      for (const chunkBytes of [1, 7, 1_000])
        assert.deepEqual(readAll(formats.csv, file, chunkBytes), expected);
    });
  }

  const rows: readonly (readonly [row: string, refusal: RegExp])[] = [
    ['9007199254740993.0,a,', /^2: 40002 .* rounded/],
    ['1e+05,a,', /^2: 40002 .* rounded .* options\(scipen = 999\) in R/],
    ['1,a,\\N', /^2: 40000 The row has \\N without quotes: \\N is NULL /],
    [',a,', /^2: 40001 `id` is empty/],
    ['1,,x', /^2: 40001 `name` is empty; an empty name is written as ""/],
    ['1,a,b,c', /^2: 40000 The row has 4 cells and the header 3/],
    ['1,"a"b,c', /^2: 40000 The row is not CSV: text follows the quote/],
  ];
  for (const [row, refusal] of rows) {
    test(`the row ${JSON.stringify(row)} is refused, and the next is read`, () => {
      const [first = '', ...more] = read(Buffer.from(`id,name,tag\n${row}\n2,b,\n`, 'latin1'));
      assert.match(first, refusal);
      assert.deepEqual(more, ['3: 2 ["b",null]']);
    });
  }

  const table = 'id\tname\ttag\n1\t"a\tx\n2\tb"\t"y"\n3\t"c\t\\N"\n';

  test('with tabs and quotes has the meaning that is said', () => {
    for (const chunkBytes of [1, 7, 1_000]) {
      assert.deepEqual(readAll(formats.csv, table, chunkBytes, true), [
        '2: 1 ["a\\tx\\n2\\tb","y"]',
        '4: 3 ["c\\t\\\\N",null]',
      ]);
      assert.deepEqual(readAll(formats.csv, table, chunkBytes, false), [
        '2: 1 ["\\"a","x"]',
        '3: 2 ["b\\"","\\"y\\""]',
        '4: 3 ["\\"c","\\\\N\\""]',
      ]);
    }
  });

  const doubts: Readonly<Record<string, RegExp>> = {
    '1\t"a"\tx': /as CSV id 1, name "a", tag "x", and as TSV id 1, name "\\"a\\"", tag "x"; add /,
    '1\t"a\tx':
      /as CSV a refused row \(The row is not CSV: a quote is not closed\.\), and as TSV id/,
    '1\ta\t"x" y': /as CSV a refused row .*, and as TSV id 1, name "a", tag "\\"x\\" y"; add /,
    '1\ta\t\\N': /as CSV a refused row \(The row has \\N .* and as TSV .*, tag "\\\\N"; add /,
    '\t""\t': /as CSV an empty row, and as TSV a refused row/,
    [`1\t${'"'.repeat(300)}\t`]: /as CSV id 1, .*, and as TSV id 1, .*; add --format csv .* tsv /,
  };
  for (const [row, says] of Object.entries(doubts)) {
    test(`with tabs stops at the row ${JSON.stringify(row.slice(0, 20))}, which has two readings`, () => {
      const reader = formats.csv.openReader(1_000);
      const entries = reader.read(Buffer.from(`id\tname\ttag\n7\tb\ty\n${row}\n`));
      const read: Entry[] = [];
      const readRest = () => {
        for (const entry of entries) read.push(entry);
      };
      assert.throws(readRest, { name: 'FileError', message: says });
      assert.deepEqual(
        read.map(({ record }) => record.line),
        [2],
      );
    });
  }

  test('a last row that was cut is refused', () => {
    const [cut] = read('id,name,tag\n1,a');
    assert.match(
      `${cut}`,
      /^2: 40000 The row has 2 cells and the header 3, and no line end follows/,
    );
    const [open] = read('id,name\n1,"a,b\n2,c,d\n');
    assert.match(`${open}`, /^2: 40000 The row is not CSV: a quote is not closed/);
  });

  test('without a header that names id and name it is refused as a whole', () => {
    const says = {
      '1,Alder,Alnus\n': /must name the columns id and name .*"1,Alder,Alnus"$/,
      ' \n\n': /is empty/,
      'id\tname\t"tag"\n1\ta\tx\n': /has quotes in its first line; add --format csv .* tsv/,
      '1\tAlder\t\\N\n': /\\N is NULL .* with a header and with empty cells/,
    };
    for (const [file, message] of Object.entries(says))
      assert.throws(() => read(file), { name: 'FileError', message });
  });
});

test('a reader keeps nothing of what it has read', async () => {
  const lines = Buffer.from('{"id":1,"name":"Alder"}\n'.repeat(10_000));
  const reader = formats.ndjson.openReader(1_000);
  await heapBytes();
  const before = process.memoryUsage().arrayBuffers;
  // Each chunk ends with a record.
  for (let chunk = 0; chunk < 20; chunk += 1)
    for (const { plant } of reader.read(Buffer.from(lines))) assert(!(plant instanceof Refusal));
  await heapBytes();
  assert(process.memoryUsage().arrayBuffers - before < 4 * lines.length);
  assert.deepEqual([...reader.end()], []);
});
