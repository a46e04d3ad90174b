import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { int64Max, int64Min } from '../../src/contract/int64.ts';
import type { NewPlant } from '../../src/contract/plant.ts';
import { problems, Refusal } from '../../src/contract/problems.ts';
import { limits } from '../../src/limits.ts';
import type { Entry, Format } from '../../src/transfer/format.ts';
import { type FormatName, formatFromName, formats } from '../../src/transfer/formats.ts';

/** What a file of these bytes says when it comes in chunks of `chunkBytes`, a line each. */
function readAll(
  format: Format,
  file: string | Buffer,
  chunkBytes = 1 << 20,
  recordBytesMax = 1_000,
) {
  const bytes = Buffer.from(file);
  const reader = format.openReader(recordBytesMax);
  const entries: Entry[] = [];
  for (let from = 0; from < bytes.length; from += chunkBytes)
    entries.push(...reader.read(bytes.subarray(from, from + chunkBytes)));
  return [...entries, ...reader.end()].map(({ record, plant }) => {
    if (plant instanceof Refusal)
      return `${record.line}: ${problems[plant.problem].code} ${plant.message}`;
    return `${record.line}: ${plant.id} ${JSON.stringify([plant.name, plant.tag])}`;
  });
}

const storableText = fc
  .string({ unit: 'binary' })
  .filter((text) => text.isWellFormed() && !text.includes('\0'));
const trickyText = fc.string({
  unit: fc.constantFrom('"', ',', ';', '\r', '\n', '\t', ' ', '\\', 'a', '🌱', '\ufeff', '\u2028'),
});
const text = fc.oneof(storableText, trickyText);
const plants: fc.Arbitrary<NewPlant[]> = fc.array(
  fc.record(
    {
      id: fc.oneof(
        fc.bigInt({ min: int64Min, max: int64Max }),
        fc.constantFrom(int64Min, int64Max),
      ),
      name: text,
      tag: fc.option(text, { nil: undefined }),
    },
    { noNullPrototype: true },
  ),
);

for (const name of ['ndjson', 'csv'] satisfies FormatName[]) {
  test(`${name}: any plants are read back as they were written, however the file is cut into chunks`, () => {
    const format = formats[name];
    fc.assert(
      fc.property(plants, fc.integer({ min: 1, max: 40 }), (written, chunkBytes) => {
        const file = Buffer.from(
          format.head(false) + written.map((plant) => format.write(plant)).join(''),
        );
        const reader = format.openReader(10_000);
        const read: Entry[] = [];
        for (let from = 0; from < file.length; from += chunkBytes)
          read.push(...reader.read(file.subarray(from, from + chunkBytes)));
        read.push(...reader.end());
        assert.deepEqual(
          read.map(({ plant }) => plant),
          written,
        );
        assert.deepEqual(
          read.map(({ record }) => record.line),
          linesOf(format, written),
        );
      }),
    );
  });

  test(`${name}: a record of more than the limit is refused with its line, and the next is read`, () => {
    const format = formats[name];
    const line = (id: bigint, chars: number) =>
      format.write({ id, name: 'x'.repeat(chars), tag: undefined });
    const file = format.head + line(1n, 10) + line(2n, 5_000) + line(3n, 10) + line(4n, 1_001);
    for (const chunkBytes of [1, 300, 1 << 20]) {
      const [first, second, third, fourth, ...more] = readAll(format, file, chunkBytes);
      const start = name === 'csv' ? 2 : 1;
      assert.match(
        `${second}`,
        new RegExp(`^${start + 1}: 41300 The (line|row) takes more than 1000 bytes`),
      );
      assert.match(`${fourth}`, new RegExp(`^${start + 3}: 41300 `));
      assert.deepEqual(
        [first, third],
        [`${start}: 1 ["${'x'.repeat(10)}",null]`, `${start + 2}: 3 ["${'x'.repeat(10)}",null]`],
      );
      assert.deepEqual(more, []);
    }
  });
}

/** The physical lines in which the plants begin. */
function linesOf(format: Format, written: readonly NewPlant[]): number[] {
  let line = 1 + format.head(false).split('\n').length - 1;
  return written.map((plant) => {
    const at = line;
    line += format.write(plant).split('\n').length - 1;
    return at;
  });
}

test('a plant of the largest body fits into a line, also where its id was short in the body', () => {
  const body = `{"id":-1e18,"name":"${'x'.repeat(limits.http.bodyBytesMax - 22)}"}`;
  assert.equal(body.length, limits.http.bodyBytesMax);
  const line = formats.ndjson.write({
    id: -(10n ** 18n),
    name: 'x'.repeat(limits.http.bodyBytesMax - 22),
    tag: undefined,
  });
  assert(line.length > limits.http.bodyBytesMax + 1);
  assert(line.length - 1 <= limits.http.bodyBytesMax + limits.transfer.idBytesMax);
});

describe('NDJSON of other programs', () => {
  const read = (file: string | Buffer) => readAll(formats.ndjson, file);

  test('blank lines, CRLF and a last line without an end are read', () => {
    const file =
      '\n{"id":1,"name":"a"}\r\n \t\r\n\r\n{ "name": "b", "more": [1], "id": 2, "tag": "" }';
    assert.deepEqual(read(file), ['2: 1 ["a",null]', '5: 2 ["b",""]']);
  });

  test('each line is held to what a body is held to', () => {
    const lines = [
      '{"id":1}',
      '{"id":1e30,"name":"a"}',
      '{"id":1,"name":"\\u0000"}',
      'x',
      '{"id":1,"name":"a","name":"b"}',
      '[]',
    ];
    const codes = read(`{"id":1e3,"name":"a"}\n${lines.join('\n')}\n`).map((line) =>
      line.slice(0, 8),
    );
    assert.deepEqual(codes, [
      '1: 1000 ',
      '2: 40001',
      '3: 40002',
      '4: 40003',
      '5: 40000',
      '6: 40000',
      '7: 40001',
    ]);
    assert.match(
      read(Buffer.from('{"id":1,"name":"\xe9"}\n', 'latin1'))[0] ?? '',
      /^1: 40000 .*not valid UTF-8 \(at byte 17\)/,
    );
  });

  test('JSON that is not a plant on each line is refused as a whole, with the way out', () => {
    assert.throws(() => read('[{"id":1,"name":"a"}]'), {
      name: 'FileError',
      message: /is a JSON array .* jq -c '\.\[\]'$/,
    });
    assert.throws(() => read('{\n  "id": 1,\n  "name": "a"\n}\n'), {
      name: 'FileError',
      message: /several lines .* jq -c \.$/,
    });
  });
});

describe('CSV of other programs', () => {
  const read = (file: string | Buffer) => readAll(formats.csv, file);

  const files: Readonly<Record<string, readonly [file: string, plants: readonly string[]]>> = {
    'LF, other order and other columns': [
      'tag,note,name,id\nx,n,a,1\n,,b,2\n',
      ['2: 1 ["a","x"]', '3: 2 ["b",null]'],
    ],
    'no column of tags': ['name,id\na,1\n', ['2: 1 ["a",null]']],
    'semicolons and capitals': [
      'ID;Name;Tag\r\n1;a, b;x\r\n2;c;\r\n',
      ['2: 1 ["a, b","x"]', '3: 2 ["c",null]'],
    ],
    tabs: ['id\tname\n1\ta,b;c\n', ['2: 1 ["a,b;c",null]']],
    'the index of pandas, and numbers that became floats': [
      ',id,name,tag\n0,1.0,a,\n1,-2.0,b,y\n',
      ['2: 1 ["a",null]', '3: -2 ["b","y"]'],
    ],
    'every cell in quotes': ['"id","name","tag"\n"1","a",""\n', ['2: 1 ["a",""]']],
    'cells over several lines': [
      'id,name\n1,"a\nb\r\n""c"""\n2,d\n',
      ['2: 1 ["a\\nb\\r\\n\\"c\\"",null]', '5: 2 ["d",null]'],
    ],
    'a quote within a cell': ['id,name,tag\n1,5" pot,"x"\n', ['2: 1 ["5\\" pot","x"]']],
    'rows that are cut short, and empty ones': [
      'id,name,tag\n1,a\n,,\n\n2,b,,,\n',
      ['2: 1 ["a",null]', '5: 2 ["b",null]'],
    ],
    'blank lines before the header, and a row of nothing but space': [
      '\n \r\nid,name\n  \n"",""\n1,a\n',
      ['6: 1 ["a",null]'],
    ],
    'a line for Excel before the header': ['sep=;\r\nid;name\r\n1;a\r\n', ['3: 1 ["a",null]']],
    'ids with space and zeros': [
      'id,name\n 007 , a \n-9223372036854775808,b\n9223372036854775807,c',
      [
        '2: 7 [" a ",null]',
        '3: -9223372036854775808 ["b",null]',
        '4: 9223372036854775807 ["c",null]',
      ],
    ],
    'no rows': ['id,name', []],
  };
  for (const [what, [file, expected]] of Object.entries(files)) {
    test(`with ${what} is read`, () => {
      for (const chunkBytes of [1, 7, 1_000])
        assert.deepEqual(readAll(formats.csv, file, chunkBytes), expected);
    });
  }

  const rows: readonly (readonly [row: string, refusal: RegExp])[] = [
    ['1.23457E+18,a,', /^2: 40002 `id` is "1\.23457E\+18", which a spreadsheet has rounded/],
    ['"1,2E+18",a,', /^2: 40002 `id` is "1,2E\+18", which a spreadsheet has rounded/],
    ['9007199254740993.0,a,', /^2: 40002 .* rounded/],
    ['12.5,a,', /^2: 40002 `id` must be an integer in plain digits; it is "12\.5"/],
    ['abc,a,', /^2: 40002 `id` must be an integer in plain digits; it is "abc"/],
    ['9223372036854775808,a,', /^2: 40002 `id` must be an integer from/],
    [',a,', /^2: 40001 `id` is empty/],
    ['1,,x', /^2: 40001 `name` is empty; an empty name is written as ""/],
    ['1,a\0,', /^2: 40003 /],
    ['1,a,b,c', /^2: 40000 The row has 4 cells and the header 3/],
    ['1,a', /^2: 40000 The row has 2 cells and the header 3, and no line end follows/],
    ['1,"a"b,c', /^2: 40000 The row is not CSV: text follows the quote/],
    ['1,"a,b\n2,c,d\n', /^2: 40000 The row is not CSV: a quote is not closed/],
  ];
  for (const [row, refusal] of rows) {
    test(`the row ${JSON.stringify(row)} is refused`, () => {
      const [first = '', ...more] = read(`id,name,tag\n${row}`);
      assert.match(first, refusal);
      assert.deepEqual(more, []);
    });
  }

  test('a row that is not UTF-8 is refused, and the next is read', () => {
    const [first = '', second] = read(Buffer.from('id,name\n1,caf\xe9\n2,b\n', 'latin1'));
    assert.match(first, /^2: 40000 The row is not valid UTF-8 \(at byte 6\)/);
    assert.equal(second, '3: 2 ["b",null]');
  });

  test('without a header that names id and name it is refused as a whole', () => {
    assert.throws(() => read('1,Alder,Alnus\n'), {
      name: 'FileError',
      message: /must name the columns id and name .*"1,Alder,Alnus"$/,
    });
    assert.throws(() => read('id,tag\n'), { message: /must name the columns/ });
    assert.throws(() => read('id,name,ID\n'), { message: /has two columns id/ });
    for (const empty of ['', '\r\n', ' \n\n'])
      assert.throws(() => read(empty), { message: /is empty/ });
    assert.throws(() => read('id,name\r1,a\r'), { message: /line ends other than LF and CRLF/ });
  });
});

test('the name of a file says what is in it', () => {
  assert.deepEqual(formatFromName('a/plants.ndjson'), { format: 'ndjson', compression: undefined });
  assert.deepEqual(formatFromName('plants.v1.CSV.GZ'), { format: 'csv', compression: 'gz' });
  assert.deepEqual(formatFromName('plants.jsonl.zst'), { format: 'ndjson', compression: 'zst' });
  assert.deepEqual(formatFromName('plants.gz'), { format: undefined, compression: 'gz' });
  assert.deepEqual(formatFromName('plants.txt'), { format: undefined, compression: undefined });
});
