import assert from 'node:assert/strict';
import { test } from 'node:test';
import stringWidth from 'fast-string-width';
import { hourColumns, hoursIn, tokenColumns } from '../../src/cli/operator/status/tables.ts';
import { type Column, openTable } from '../../src/cli/terminal/table.ts';
import type { Minute } from '../../src/ops/contract.ts';

/** What a terminal of this width, or a file, shows. */
function shown<R>(columns: readonly Column<R>[], rows: readonly R[], width?: number): string[] {
  const lines: string[] = [];
  const print = (line: string) => void lines.push(line);
  const table = openTable(columns, { width, print });
  for (const row of rows) table.add(row);
  table.end();
  return lines;
}

const minute: Minute = {
  ...{ atMs: Date.UTC(2026, 10, 22, 7), hasStart: false },
  ...{ created: 132_456, same: 12, taken: 2, failed: 3, refused: 15_208 },
  refusals: { 40004: 2, 40103: 1_200, 42900: 14_000, 40001: 6, 50301: 3 },
  refusedSenders: { 'greenhouse-of-the-north': 14_000, kiosk: 1_208 },
  senderRefusals: {
    'greenhouse-of-the-north': { 42900: 14_000 },
    kiosk: { 40103: 1_200, 40001: 6, 40004: 2 },
  },
  anonymousRefusals: { 50301: 3 },
  ...{ p50Ms: 1, p99Ms: 12.3, queuePlants: 0, connections: 0 },
};
const hours = hoursIn([minute, { ...minute, atMs: Date.UTC(2026, 10, 22, 8) }]);

const lastUsedAt = new Date(Date.now() - 3 * 86_400_000).toISOString();
const greenhouse = {
  ...{ name: 'greenhouse-of-the-north', state: 'valid', lastUsedAt },
  ...{ created: 11_000_000, same: 5_300, taken: 0, failed: 0, refused: 102_345 },
  refusals: [
    { code: 42900, count: 102_000 },
    { code: 40004, count: 345 },
  ],
  refused24Hours: 204_690,
  refusals24Hours: [{ code: 42900, count: 204_690, firstAt: '2026-11-22T07:14Z' }],
};
const senders = [greenhouse, { name: 'kiosk', state: 'not seen', refused24Hours: 0 }];

/** Digits with what stands between them. */
const figuresIn = (lines: readonly string[]) =>
  new Set(lines.flatMap((line) => line.match(/\d(?:[\d.,:TZ-]*\d)?/g) ?? []));

for (const width of [40, 60, 80, 120])
  test(`at ${width} columns, tables fit and show every figure in full`, () => {
    const columns = hourColumns(hours, width);
    for (const [onTerminal, inFile] of [
      [shown(columns, hours, width), shown(columns, hours)],
      [
        shown(tokenColumns(senders, width), senders, width),
        shown(tokenColumns(senders, width), senders),
      ],
    ] as const) {
      for (const line of onTerminal) assert(stringWidth(line) <= width, line);
      assert.deepEqual(figuresIn(onTerminal), figuresIn(inFile));
      assert(!onTerminal.join('').includes('…'));
    }
  });

test('the hours show failures first, then the codes with the most requests', () => {
  const [head = ''] = shown(hourColumns(hours), hours);
  assert.match(head, /50301 +42900 +40103 +40001 +40004 /);
});

test('hours stay lines on a narrow terminal, which counts the last codes together', () => {
  assert.deepEqual(shown(hourColumns(hours, 80), hours, 80), [
    'HOUR               CREATED  WORST P99  50301   42900  40103  OTHERS  SERVICE',
    '                                   MS',
    '2026-11-22T07:00Z  132,456       12.3      3  14,000  1,200       8  down 59 min',
    '2026-11-22T08:00Z  132,456       12.3      3  14,000  1,200       8',
  ]);
  const more = hours.map((hour) => ({
    ...hour,
    refusals: [...hour.refusals, { code: 41500, count: 4 }],
  }));
  const [head, , line] = shown(hourColumns(more, 80), more, 80);
  assert.match(head ?? '', / 42900 {2}40103 {2}OTHERS {2}SERVICE$/);
  assert.match(line ?? '', / 14,000 {2}1,200 +12 {2}down 59 min$/);
});

test('hours on a terminal of 100 columns name the client with the most refusals', () => {
  const [, , line] = shown(hourColumns(hours, 100), hours, 100);
  assert.match(line ?? '', / 12\.3 +3 +15,208 {2}greenhouse-of-the-north: 14,000 {2}down 59 min$/);
});

test('an hour in which no service ran is a line that says so', () => {
  const rows = hoursIn([minute, { ...minute, atMs: Date.UTC(2026, 10, 22, 10) }], true);
  const lines = shown(hourColumns(rows), rows).slice(1);
  for (const [index, end] of ['  down 59 min', '  down', '  down', 'kiosk 40004: 2'].entries())
    assert(lines[index]?.startsWith(rows[index]?.at ?? '-') && lines[index].endsWith(end));
  assert.equal(lines.length, 4);
  assert.match(lines[2] ?? '', /^2026-11-22T09:00Z {2,}down$/);
  assert.deepEqual(hoursIn([], true), []);
});

test('heads and lists go on in the next line before a table becomes blocks', () => {
  const myApp = [{ ...greenhouse, name: 'my-app' }];
  assert.deepEqual(shown(tokenColumns(myApp, 80), myApp, 80), [
    'NAME    STATE  LAST USED      CREATED   SAME  REFUSED  REFUSED  BY CODE',
    '                                                           24h',
    'my-app  valid  3 days ago  11,000,000  5,300  102,345  204,690  42900: 102,000,',
    '                                                                40004: 345',
  ]);
});

test('a terminal that is too narrow for the columns gets each row as a block', () => {
  assert.deepEqual(shown(tokenColumns(senders, 60), senders, 60), [
    'NAME         greenhouse-of-the-north',
    'STATE        valid',
    'LAST USED    3 days ago',
    'CREATED      11,000,000',
    'SAME         5,300',
    'REFUSED      102,345',
    'REFUSED 24h  204,690',
    'BY CODE      42900: 102,000, 40004: 345',
    '',
    'NAME         kiosk',
    'STATE        not seen',
    'LAST USED    -',
    'CREATED      -',
    'SAME         -',
    'REFUSED      -',
    'REFUSED 24h  0',
  ]);
});

test('the name in the first column is shortened last, and to no less than 24 columns', () => {
  const longNames = senders.map((sender) => ({ ...sender, name: sender.name.padEnd(200, '-') }));
  const lines = shown(tokenColumns(longNames, 100), longNames, 100);
  for (const name of ['greenhouse-of-the-north', 'kiosk-'])
    assert.match(lines.join('\n'), new RegExp(`^${name}-*… `, 'm'));
});
