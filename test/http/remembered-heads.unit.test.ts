import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Refusal } from '../../src/contract/problems.ts';
import { RememberedHeads } from '../../src/http/remembered-heads.ts';
import { type RequestHead, readHead } from '../../src/http/request-head.ts';
import { limits } from '../../src/limits.ts';

const start = 'POST /plants HTTP/1.1\r\nHost: a';
const traceparentWith = (digit: string) => `00-${digit.repeat(32)}-${digit.repeat(16)}-01`;

/** The head as it comes from a connection, behind other bytes and before others. */
function read(heads: RememberedHeads, text: string): RequestHead | Refusal {
  const before = 'GET / HTTP/1.1\r\n\r\n';
  const bytes = Buffer.from(`${before}${text}\r\n\r\n{}`, 'latin1');
  return heads.read(bytes, before.length, before.length + text.length);
}

function traceparentOf(head: RequestHead | Refusal): string | undefined {
  assert(!(head instanceof Refusal), String(head));
  return head.label;
}

test('requests that differ in their traceparent alone share one remembered head, and each has its own value', () => {
  const heads = new RememberedHeads();
  const [first, second] = ['a', 'b'].map((digit) =>
    read(heads, `${start}\r\ntraceparent: ${traceparentWith(digit)}\r\nAccept: */*`),
  ) as [RequestHead, RequestHead];

  assert.equal(first.fields, second.fields);
  assert.deepEqual([first, second].map(traceparentOf), [
    traceparentWith('a'),
    traceparentWith('b'),
  ]);
});

for (const [what, lines] of Object.entries({
  'at the end of the head': `Accept: */*\r\ntraceparent: ${traceparentWith('a')}`,
  'with a capital letter': `Traceparent: ${traceparentWith('a')}\r\nAccept: */*`,
  'in capital letters': `TRACEPARENT: ${traceparentWith('a')}`,
  'without a space': `traceparent:${traceparentWith('a')}`,
  'with more spaces': `traceparent:  ${traceparentWith('a')}  `,
  'behind a field that has the name in its value': `X-Note: traceparent: none\r\ntraceparent: ${traceparentWith('a')}`,
}))
  test(`a traceparent ${what} is found`, () => {
    const heads = new RememberedHeads();
    const text = `${start}\r\n${lines}`;
    assert.equal(traceparentOf(read(heads, text)), traceparentWith('a'));
    assert.equal(traceparentOf(read(heads, text)), traceparentWith('a'), 'remembered');
  });

test('what is remembered of heads is bounded by the memory of their lines', () => {
  const heads = new RememberedHeads();
  const headOf = (number: number) => `GET /${number} HTTP/1.1\r\nHost: a${'\r\na:'.repeat(200)}`;
  const first = read(heads, headOf(0));
  assert.equal(read(heads, headOf(0)), first);
  // Each has 800 bytes of text, and takes some 40 KB.
  const many = limits.http.rememberedBytes / 40_000;
  for (let number = 1; number <= many; number += 1) read(heads, headOf(number));
  assert.notEqual(read(heads, headOf(0)), first);
});

test('two traceparents are none', () => {
  const line = `\r\ntraceparent: ${traceparentWith('a')}`;
  const heads = new RememberedHeads();
  assert.equal(traceparentOf(read(heads, start + line + line)), undefined);
  assert.equal(traceparentOf(read(heads, `${start + line}\r\nTraceparent: b`)), undefined);
});

test('of a long traceparent only the characters are kept that matter', () => {
  const value = `01-${'a'.repeat(32)}-${'b'.repeat(16)}-01-${'c'.repeat(1_000)}`;
  const head = read(new RememberedHeads(), `${start}\r\ntraceparent: ${value}`);
  assert.equal(traceparentOf(head), value.slice(0, 64));
});

test('a head with a field too many is refused, also if one of the fields is a traceparent', () => {
  const fields = '\r\na:'.repeat(limits.http.headerFieldsMax);
  const head = read(
    new RememberedHeads(),
    `GET / HTTP/1.0${fields}\r\ntraceparent: ${traceparentWith('a')}`,
  );
  assert(head instanceof Refusal);
  assert.equal(head.problem, 'headersTooLarge');
});

test('a head with a traceparent is read as without the memory, whatever its lines hold', () => {
  const value = fc.oneof(
    fc.constant(traceparentWith('a')),
    fc.string({
      unit: fc.constantFrom('0', 'f', '-', ' ', '\t', '\r', '\n', '\0', '\x7f', '\xff'),
    }),
    fc
      .tuple(fc.nat(54), fc.constantFrom('\r', '\n', '\0', '\x7f', '\xff', 'A', '\r\n'))
      .map(
        ([at, odd]) => traceparentWith('a').slice(0, at) + odd + traceparentWith('a').slice(at + 1),
      ),
  );
  const name = fc.constantFrom(
    'traceparent: ',
    'Traceparent: ',
    'xtraceparent: ',
    'traceparent:',
    'A: ',
  );
  const line = fc.tuple(name, value).map((both) => both.join(''));
  const heads = new RememberedHeads();
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 4 }), (lines) => {
      const text = [start, ...lines].join('\r\n');
      // Where the head ends is found before the head is read.
      fc.pre(!text.includes('\r\n\r\n'));
      assert.deepEqual(comparable(read(heads, text)), comparable(readHead(text)));
    }),
    { numRuns: 2_000 },
  );
});

/** Without the value of `traceparent`, which may be missing in the fields. */
function comparable(head: RequestHead | Refusal): unknown {
  if (head instanceof Refusal) return head;
  const fields = [...head.fields].filter(([name]) => name !== 'traceparent');
  return { ...head, fields, count: head.fields.get('traceparent')?.length };
}
