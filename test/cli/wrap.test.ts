import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import stringWidth from 'fast-string-width';
import { loadCommands } from '../../src/cli/commands.ts';
import { fitted } from '../../src/cli/terminal/fitted.ts';
import { wrapped, wrappedCommand } from '../../src/cli/terminal/wrap.ts';
import { runHere } from '../helpers/run-here.ts';
import { newStore } from '../helpers/store-file.ts';

const commands = await loadCommands();

/** What a terminal of this width shows. */
async function linesAt(width: number, ...args: string[]): Promise<string[]> {
  const { stdout } = await runHere(args, {}, { width });
  return stdout.trimEnd().split('\n');
}

/** A line is longer than the terminal only if its only word is. */
function fits(lines: readonly string[], width: number): void {
  for (const line of lines)
    assert(stringWidth(line) <= width || !/\S \S/.test(line.replace(/ \\$/, '')), line);
}

const words = (lines: readonly string[]) => lines.join(' ').split(/\s+/);

for (const width of [60, 40]) {
  describe(`at ${width} columns`, () => {
    test('the help of the program breaks between words', async () => {
      const lines = await linesAt(width, '--help');
      fits(lines, width);
      assert.deepEqual(words(lines), words(await linesAt(1_000, '--help')));
    });

    test('the help of each command breaks between words, and its examples still run', async () => {
      for (const { name, examples } of commands) {
        const lines = await linesAt(width, ...name.split(' '), '--help');
        fits(lines, width);
        const shown = lines.slice(lines.indexOf('Examples:') + 1).join('\n');
        const joined = shown
          .replaceAll(/ \\\n {4}/g, ' ')
          .split('\n')
          .map((line) => line.trim());
        assert.deepEqual(joined, examples, name);
      }
    });

    test('the findings of doctor break between words', async (t) => {
      const store = await newStore(t, 1);
      const args = ['doctor', '--store', `sqlite:${store}`];
      const lines = await linesAt(width, ...args);
      fits(lines, width);
      assert.deepEqual(
        words(lines).filter((word) => word === '"plant-store'),
        ['"plant-store', '"plant-store'],
      );
    });
  });
}

test('a word that is too long has a line of its own, and wide letters count twice', () => {
  assert.deepEqual(wrapped('a /a/very/long/path b', 8), ['a', '/a/very/long/path', 'b']);
  assert.deepEqual(wrapped('欅 欅 欅', 5), ['欅 欅', '欅']);
  assert.deepEqual(wrapped('', 5), []);
});

test('a command is not broken if it fits into a line', () => {
  const text = 'do it with "plant-store verify --json", and look';
  assert.deepEqual(wrapped(text, 30), ['do it with', '"plant-store verify --json",', 'and look']);
  assert.deepEqual(wrapped(text, 25), ['do it with "plant-store', 'verify --json", and look']);
});

test('an example goes on behind a backslash, and its quoted words stay whole', () => {
  assert.deepEqual(wrappedCommand('plant-store import x.csv --column "name=Plant name"', 40), [
    '  plant-store import x.csv --column \\',
    '    "name=Plant name"',
  ]);
  assert.deepEqual(wrappedCommand('plant-store doctor', 40), ['  plant-store doctor']);
});

test('a line keeps its parts of the highest rank', () => {
  const parts = [
    { text: 'aaa', rank: 2 },
    { text: 'b', rank: 1 },
    { text: 'cc', rank: 3 },
  ];
  const expected = { 10: 'aaa, b, cc', 9: 'aaa, cc', 6: 'cc', 1: 'cc' };
  for (const [columns, line] of Object.entries(expected))
    assert.equal(fitted(parts, Number(columns)), line);
});

test('commands in messages name the store by its whole path, quoted for a shell', async (t) => {
  const store = join(await newStore(t), "../it's a store/plants.db");
  const { stderr } = await runHere(['plants', 'count', '--store', `sqlite:${store}`]);
  assert(
    stderr.includes(`"plant-store serve --store 'sqlite:${store.replace("'", `'\\''`)}'"`),
    stderr,
  );
});
