import assert from 'node:assert/strict';
import { once } from 'node:events';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { mounted } from '../helpers/mounts.ts';
import { startProgram } from '../helpers/program.ts';
import { done, failed, on, refused, runHere } from '../helpers/run-here.ts';
import { alterStore, makeStore, newStore, storedPlants } from '../helpers/store-file.ts';
import { counts, fileFor, interruptedImport, run, shell } from './files.ts';

const data = fileURLToPath(new URL('../data', import.meta.url));
const commonPlants = join(data, 'common-plants.ndjson');

/**
 * What is hard to keep: both ends of int64, empty and absent tags, and what the formats themselves
 * are made of.
 */
const plants = [
  '{"id":-9223372036854775808,"name":"Yew","tag":"Taxus"}',
  '{"id":-5,"name":""}',
  '{"id":0,"name":"","tag":""}',
  '{"id":1,"name":"a,b;c\\td","tag":" \\"quoted\\" "}',
  '{"id":2,"name":"line\\r\\nbreak\\n","tag":"\\r"}',
  '{"id":3,"name":"🌱 Ёлка \\u0001\\\\","tag":"=1+1"}',
  '{"id":9007199254740993,"name":"\ufeffmark","tag":"\u2028"}',
  '{"id":9223372036854775807,"name":"O\'Hara"}',
];
const plantsInCsv = [
  'id,name,tag',
  '-9223372036854775808,Yew,Taxus',
  '-5,"",',
  '0,"",""',
  '1,"a,b;c\td"," ""quoted"" "',
  '2,"line\r\nbreak\n","\r"',
  '3,🌱 Ёлка \u0001\\,=1+1',
  '9007199254740993,\ufeffmark,\u2028',
  "9223372036854775807,O'Hara,",
];

function lines(...texts: readonly string[]): string {
  return texts.map((line) => `${line}\n`).join('');
}

test('what is imported is exported as it was, byte for byte, in ascending order of id', async (t) => {
  const { file, store } = await fileFor(t, 'plants.ndjson', lines(...plants.toReversed()));
  const imported = await run(store, 'import', file);
  assert.deepEqual(counts(imported), { created: 8, same: 0, refused: 0 });
  assert.equal(imported.code, 0);
  assert.equal((await run(store, 'export')).stdout, lines(...plants));
  const inCsv = await run(store, 'export', '-', '--format', 'csv');
  assert.equal(inCsv.stdout, plantsInCsv.map((row) => `${row}\r\n`).join(''));
  const { stdout } = await run(store, 'plants', 'list', '--limit', '1');
  assert.match(stdout, /"createdBy":"import"/);
});

test('a round trip through a file of every kind keeps every plant', {
  concurrency: 2,
}, async (t) => {
  const hard = lines(...plants.slice(0, 2), ...plants.slice(6));
  const content = readFileSync(commonPlants, 'utf8') + hard;
  const { file, store } = await fileFor(t, 'plants.ndjson', content);
  await run(store, 'import', file);
  const stored = storedPlants(store);
  assert.equal(stored.length, 104);
  const endings = ['ndjson', 'jsonl.gz', 'ndjson.zst', 'csv', 'csv.gz', 'csv.zst'].map((ending) =>
    t.test(ending, async () => {
      const copy = join(dirname(file), `copy.${ending}`);
      await done('export', copy, ...on(store));
      assert.equal(statSync(copy).mode & 0o777, 0o600);
      const other = join(dirname(file), `${ending}.db`);
      makeStore(other);
      const imported = await done('import', copy, ...on(other));
      assert.deepEqual(counts(imported), { created: 104, same: 0, refused: 0 });
      assert.deepEqual(storedPlants(other), stored);
    }),
  );
  await Promise.all(endings);
});

test('what is refused is reported with its line, code, message and text, the rest is imported, and the exit code is 1', async (t) => {
  const content = lines(
    plants[0] ?? '',
    '{"id":1}',
    '',
    'x',
    '{"id":-9223372036854775808,"name":"Oak"}',
    `"${'x'.repeat(2_000)}"`,
    plants[1] ?? '',
  );
  const { file, store, report } = await fileFor(t, 'plants.ndjson', content);
  const ended = await run(store, 'import', file, '--body-limit', '1024');
  assert.equal(ended.code, 1);
  assert.deepEqual(counts(ended), {
    created: 2,
    same: 0,
    refused: 4,
    'refused 40000': 1,
    'refused 40001': 1,
    'refused 40004': 1,
    'refused 41300': 1,
  });
  assert(ended.stderr.endsWith(`What was refused, and why, is in ${report}.\n`), ended.stderr);
  assert.equal(
    readFileSync(report, 'utf8'),
    lines(
      '{"line":2,"error":40001,"message":"`name` must be a string; it is missing.","text":"{\\"id\\":1}"}',
      '{"line":4,"error":40000,"message":"The body is not JSON as accepted here: \\"x\\" where a value is expected (at byte 1).","text":"x"}',
      '{"line":5,"error":40004,"message":"The id -9223372036854775808 belongs to a plant with another name or tag.","text":"{\\"id\\":-9223372036854775808,\\"name\\":\\"Oak\\"}"}',
      `{"line":6,"error":41300,"message":"The line takes more than 1044 bytes; a higher --body-limit allows it.","excerpt":"\\"${'x'.repeat(999)}"}`,
    ),
  );
});

const inTwoWays =
  /can be read in two ways from line 2 on: as CSV .*, and as TSV .*; add --format csv .* --format tsv /;

/** Of each file, with flags: the exit code, the plants as an export has them, and what is said. */
const foreignFiles: Readonly<
  Record<string, readonly [code: number, plants: readonly string[], says: RegExp]>
> = {
  'crlf-blank-no-end.ndjson': [0, ['1,A,', '2,B,'], /^Read 2 plants in .*\n$/],
  'excel-semicolon-bom.csv': [
    0,
    ['1,Mélèze; d’Europe,Larix', '2,"Two\r\nlines",'],
    /^Rows that take several lines: 1, the first at line 3\. .*; a stray quote joins rows/m,
  ],
  'darwin-core-taxon.tsv --column id=taxonID --column name=scientificName --column tag=taxonRank': [
    0,
    [
      '9007199254740993,Mentha × piperita L.,species',
      '9007199254740994,"Salix ×sepulcralis ""Chrysocoma""",cultivar',
    ],
    /^Read 2 plants in .*\n$/,
  ],
  'literal-quotes.tsv': [1, [], inTwoWays],
  'literal-quotes.tsv --format tsv': [
    0,
    ['3,"""Aster",x', '4,Bellis,y', '5,Calluna,z', '6,"Dahlia""",w', '7,Erica,v'],
    /^Read 5 plants in .*\n$/,
  ],
  'quoted-by-a-writer.tsv': [1, [], inTwoWays],
  'quoted-by-a-writer.tsv --format csv': [
    0,
    ['21,"Alder, grey",Alnus', '22,"5"" pot",x', '23,Tab\there,Tabus', '24,"Two\nlines",Lineae'],
    /^Read 4 plants in .*\nRows that take several lines: 1, /,
  ],
  'quotes-of-both-kinds.tsv': [1, [], inTwoWays],
  'quotes-of-both-kinds.tsv --format tsv': [
    0,
    ['31,"""Unter den Linden"" lime",Tilia', '32,"""Alder, grey""",Alnus'],
    /^Read 2 plants in .*\n$/,
  ],
  'quotes-of-both-kinds.tsv --format csv': [
    1,
    ['32,"Alder, grey",Alnus'],
    /^\{"line":2,"error":40000,.* text follows the quote that ends a cell/m,
  ],
  'dump-without-header.tsv': [1, [], /must name the columns .*; \\N is NULL in a dump/],
  'statistics-row-names.csv': [
    1,
    ['100001,Birch,NA'],
    /^\{"line":2,"error":40002,.*1e\+05.* digits may be lost\. .*options\(scipen = 999\)/m,
  ],
  'excel-scientific-ids.csv': [
    1,
    ['1234570000000000,Quercus petraea,Quercus'],
    /^\{"line":2,"error":40002,.*1\.23457E\+15.* a spreadsheet or R has rounded/m,
  ],
  'ids-with-separators.csv': [
    1,
    ['7,Acer saccharum,Acer'],
    /^\{"line":2,"error":40002,.*"1,234.*\n\{"line":3,"error":40002,.* in plain digits; .*"1 234/m,
  ],
  'formula-names.csv': [
    0,
    ['1,=1+1,', '2,+49,', '3,-Buxus,', '4,@Taxus,', '5,"=HYPERLINK(""x"")",'],
    /^Read 5 plants in .*\n$/,
  ],
  'header-twice.csv': [1, [], /has two columns tag; .*"id,name,tag,tag"$/m],
  // An excerpt is no `text`: an import of it would store another name.
  'latin1.csv': [
    1,
    [],
    /,"error":40000,.* not valid UTF-8; .*"iconv .*\.","excerpt":"1,Rosa \ufffdg/,
  ],
  'array-not-ndjson.json': [1, [], /convert it with: jq -c '\.\[\]'$/m],
};

test('files of other people are imported as they are meant, or refused with the way out', async (t) => {
  const folder = join(data, 'foreign-files');
  const tried = new Set<string>();
  for (const [words, [code, plants, says]] of Object.entries(foreignFiles)) {
    const [name = '', ...flags] = words.split(' ');
    tried.add(name);
    const { file, store, report } = await fileFor(t, name, readFileSync(join(folder, name)));
    const ended = await run(store, 'import', file, ...flags);
    const reported = existsSync(report) ? readFileSync(report, 'utf8') : '';
    assert.match(ended.stderr + reported, says);
    const { stdout } = await run(store, 'export', '--format', 'csv');
    const rows = ['id,name,tag', ...plants].map((row) => `${row}\r\n`).join('');
    assert.deepEqual([words, ended.code, stdout], [words, code, rows]);
  }
  assert.deepEqual(readdirSync(folder).sort(), [...tried].sort());
});

test('a pipe, and a file whose name tells nothing, have the format that --format says, or NDJSON', async (t) => {
  const { file, store } = await fileFor(t, 'plants.txt', 'id,name\n1,Alder\n');
  const { stdout, stderr } = shell(
    store,
    `csv() { plant-store import "$@" --format csv --json; }; mkfifo pipe; cat plants.txt > pipe &
     csv pipe; csv /dev/stdin < plants.txt; csv <(cat plants.txt)
     plant-store export | plant-store import - --json`,
  );
  const same = '{"created":0,"same":1,"refused":0,"refusedByCode":{}}';
  assert.equal(stdout, lines(same.replace('0,"same":1', '1,"same":0'), ...Array(3).fill(same)));
  assert.match(stderr, /^(Read 1 plant in .*\n|Exported 1 plant in .*\n)+$/);
  const named = await done('import', file, '--format', 'csv', ...on(store));
  assert.deepEqual(counts(named), { created: 0, same: 1, refused: 0 });
  const isTable = /plants\.txt is a table and not a plant on each line; add --format csv, or /;
  await refused(isTable, 'import', file, ...on(store));
});

test('--column takes a title in any case, and its variable has one on each line', async (t) => {
  const table = 'Nr;Plant name;Genus;name\r\n7;Gray alder;Alnus;x\r\n8;"";;y\r\n';
  const { file, store } = await fileFor(t, 'garden.csv', table);
  const titles = { PLANT_STORE_COLUMN: 'id=Nr\nname=plant name\ntag=Genus' };
  const ended = await runHere(['import', file, ...on(store)], titles);
  assert.equal(ended.code, 0, ended.stderr);
  assert.deepEqual(storedPlants(store), [
    [7n, 'Gray alder', 'Alnus'],
    [8n, '', null],
  ]);
});

test('an import is safe to run again, and forgets what was refused before', async (t) => {
  const { file, store, report } = await fileFor(t, 'plants.csv', 'id,name\n1,Alder\n2,\n');
  assert.equal((await run(store, 'import', file)).code, 1);
  assert.match(readFileSync(report, 'utf8'), /^\{"line":3,"error":40001,.*"text":"2,"\}\n$/);
  writeFileSync(file, 'id,name\n1,Alder\n2,Birch\n');
  const again = await run(store, 'import', file);
  assert.deepEqual([again.code, counts(again)], [0, { created: 1, same: 1, refused: 0 }]);
  assert.equal(existsSync(report), false);
});

test('what no import has made is never the report, and never removed', async (t) => {
  const { file, store, report } = await fileFor(t, 'plants.ndjson', lines(plants[1] ?? ''));
  const makeOthers = [
    () => writeFileSync(report, lines(plants[0] ?? '')),
    () => symlinkSync(`${file}.target`, report),
    () => mkdirSync(report),
  ];
  for (const makeOther of makeOthers) {
    makeOther();
    const { code, stderr } = await run(store, 'import', file);
    const says = `${report} exists, and is not a file of refused lines; move it away`;
    assert.deepEqual([code, stderr], [1, `plant-store: ${says}\n`]);
    assert(lstatSync(report));
    rmSync(report, { recursive: true });
  }
  assert.deepEqual(storedPlants(store), []);
});

test('an import that is interrupted says what was done and how to go on, and ends by the signal', async (t) => {
  const ended = await interruptedImport(t, 'SIGINT');
  const { created = 0, ...others } = counts(ended);
  assert.deepEqual(others, { same: 0, refused: 1, 'refused 40000': 1 });
  assert(created > 0 && created <= ended.length);
  const [read, where, last, ...more] = ended.stderr.trimEnd().split('\n');
  assert.match(read ?? '', /^Read [0-9,]+ plants in .*\.$/);
  assert.equal(where, `What was refused until then, and why, is in ${ended.report}.`);
  const goOn = 'run it again to go on: plants that are stored count as same';
  assert.equal(last, `plant-store: SIGINT has stopped the import before its end; ${goOn}`);
  assert.deepEqual(more, []);
});

test('an export is of one moment, whatever is created before its end', async (t) => {
  // More than a pipe holds.
  const store = await newStore(t, 50_000);
  const child = startProgram(['export', ...on(store)]);
  t.after(() => child.kill('SIGKILL'));
  await once(child.stdout, 'readable');
  const others = `(-1, 'before', NULL, 0, 0), (60000, 'after', NULL, 0, 0)`;
  alterStore(store, `INSERT INTO plants VALUES ${others}`);
  const written = (await text(child.stdout)).trim().split('\n');
  assert.equal(written.length, 50_000);
  assert.equal(written[0], '{"id":1,"name":"xxxxxxxxxx1","tag":"odd"}');
  assert.equal(written.at(-1), '{"id":50000,"name":"xxxxxxxxxx50000"}');
});

test('a disk that is full is an error, and leaves no file', async (t) => {
  const store = await newStore(t, 20_000);
  const full = shell(store, 'plant-store export > /dev/full');
  assert.equal(full.code, 1);
  assert.match(full.stderr, /^plant-store: cannot write the output \(.*ENOSPC.*\)\n$/);

  const folder = mounted(t, 'size=64k');
  if (folder === undefined) return;
  const says = /^plant-store: cannot write .*plants\.csv \(ENOSPC.*\n$/;
  await refused(says, 'export', join(folder, 'plants.csv'), ...on(store));
  assert.deepEqual(readdirSync(folder), []);
  const redirected = shell(store, `plant-store export > ${folder}/plants.ndjson`);
  assert.equal(redirected.code, 1);
  assert.match(redirected.stderr, /^plant-store: ENOSPC/);
});

test('an export replaces a file only with --overwrite, and then whole', async (t) => {
  const { file, store } = await fileFor(t, 'plants.ndjson', lines(plants[0] ?? ''));
  makeStore(store, 1);
  for (const name of ['plants.xlsx', 'plants.tsv', 'plants.json.gz'])
    failed(await run(store, 'export', join(dirname(file), name)), /: no export is \.\w+; end /, 2);
  failed(await run(store, 'plants', 'list', '--format', 'tsv'), /: no export is tsv; /, 2);
  const says =
    /plants\.ndjson exists already; choose another name, or replace the file with --overwrite\n$/;
  await refused(says, 'export', file, ...on(store));
  assert.equal(readFileSync(file, 'utf8'), lines(plants[0] ?? ''));
  await done('export', file, '--overwrite', ...on(store));
  assert.equal(readFileSync(file, 'utf8'), lines('{"id":1,"name":"xxxxxxxxxx1","tag":"odd"}'));
});

const inEncoding = (name: string) =>
  new RegExp(` is in ${name}; convert it with: iconv -f ${name} -t UTF-8\n$`);

/** Little endian. */
function utf32(text: string): Buffer {
  return Buffer.from(Uint32Array.from(text, (letter) => letter.charCodeAt(0)).buffer);
}

test('a file that cannot be imported as a whole is an error that says what to do', async (t) => {
  const gzip = gzipSync(lines(...plants));
  const files: readonly (readonly [
    name: string,
    content: string | Uint8Array,
    says: RegExp,
    created?: number,
  ])[] = [
    [
      'plants.ndjson.gz',
      gzip.subarray(0, -9),
      /cannot be decompressed to its end .* get the file/,
      8,
    ],
    ['plants.ndjson.zst', 'no zstd at all', /cannot be decompressed to its end/],
    ['plants.ndjson', Buffer.from(`\ufeff${plants[0]}`, 'utf16le'), inEncoding('UTF-16LE')],
    ['plants.csv', Buffer.from('id,name\n', 'utf16le').swap16(), inEncoding('UTF-16BE')],
    ['plants.ndjson', utf32('\ufeff{}'), inEncoding('UTF-32LE')],
    ['plants.csv', utf32('id').swap32(), inEncoding('UTF-32BE')],
  ];
  for (const [name, content, says, created = 0] of files) {
    const { file, store, report } = await fileFor(t, name, content);
    const ended = await run(store, 'import', file);
    assert.equal(ended.code, 1);
    assert.match(ended.stderr, says);
    assert.equal(counts(ended)['created'] ?? 0, created);
    assert.equal(existsSync(report), false);
  }
  const { file, store } = await fileFor(t, 'plants.ndjson', '');
  const missing = `${file}.ndjson`;
  await refused(
    RegExp(`^plant-store: there is no file ${missing} to import\n$`),
    'import',
    missing,
    ...on(store),
  );
});
