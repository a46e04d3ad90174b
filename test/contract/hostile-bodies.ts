import fc from 'fast-check';
import {
  anyCharacter,
  anyInt64,
  edited,
  editedJsonText,
  integerLiteral,
  jsonText,
  numberLiteral,
  space,
  spelled,
  spelledAs,
  spelledPlant,
} from './json-text.ts';

/** A body, and of which kind it is. */
export interface HostileBody {
  readonly kind: string;
  readonly bytes: Buffer;
}

/** Byte sequences that RFC 3629 does not allow, of each class. */
export const brokenUtf8: Readonly<Record<string, readonly (readonly number[])[]>> = {
  'a continuation alone': [[0x80], [0x80, 0x80]],
  'a sequence that is cut': [[0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x8c]],
  'an overlong form': [
    [0xc0, 0xa2],
    [0xe0, 0x80, 0xa2],
    [0xf0, 0x80, 0x80, 0xa2],
  ],
  'a surrogate': [
    [0xed, 0xa0, 0x80],
    [0xed, 0xbf, 0xbf],
  ],
  'a code point past U+10FFFF': [
    [0xf4, 0x90, 0x80, 0x80],
    [0xf8, 0x88, 0x80, 0x80, 0x80],
  ],
  'a byte that is never in UTF-8': [[0xfe], [0xff]],
};

const plantBytes = spelledPlant.map(({ body }) => Buffer.from(body));

/** A plain plant, so that most edits hit something that matters. */
const shortPlantBytes = fc
  .tuple(anyInt64, fc.boolean())
  .map(([id, tagged]) =>
    Buffer.from(`{"id":${id},"name":"Älder"${tagged ? ',"tag":"A\\n🌱"' : ''}}`),
  );

const plain = fc.oneof({ weight: 3, arbitrary: shortPlantBytes }, plantBytes);

/** As text of one character for each byte. */
const otherBytes = fc.oneof(
  fc.constantFrom(...'{}[]",:\\/.-+eE0195utrfalsn \t\n\r'),
  fc.nat(255).map((byte) => String.fromCharCode(byte)),
  fc.constantFrom('\0', '\xef\xbb\xbf', '\xc2\xa0', '\xe2\x80\xa8', '\\u', '\\"'),
);
const editedBytes = edited(
  plain.map((body) => body.toString('latin1')),
  otherBytes,
).map((text) => Buffer.from(text, 'latin1'));

const withBrokenUtf8 = fc
  .tuple(plain, fc.constantFrom(...Object.values(brokenUtf8).flat()), fc.nat(4_095))
  .map(([body, bytes, at]) => {
    const start = at % (body.length + 1);
    return Buffer.concat([body.subarray(0, start), Buffer.from(bytes), body.subarray(start)]);
  });

/** The other encodings that JSON has been sent in, with and without their byte order marks. */
const encodings: Readonly<Record<string, (text: string) => Buffer>> = {
  'UTF-16LE': (text) => Buffer.from(text, 'utf16le'),
  'UTF-16BE': (text) => Buffer.from(text, 'utf16le').swap16(),
  'UTF-32LE': (text) => utf32(text),
  'UTF-32BE': (text) => utf32(text).swap32(),
  'UTF-8 with a mark': (text) => Buffer.from(`\ufeff${text}`),
  'ISO 8859-1': (text) => Buffer.from(text, 'latin1'),
};

function utf32(text: string): Buffer {
  return Buffer.from(
    Uint32Array.from([...text], (character) => character.codePointAt(0) as number).buffer,
  );
}

const otherEncodings = fc
  .tuple(
    fc.oneof(plain.map(String), fc.constantFrom('', '{}', '{"id":1,"name":"Alder"}')),
    fc.constantFrom(...Object.values(encodings)),
  )
  .map(([text, encode]) => encode(text));

const usualNames = ['id', 'name', 'tag'];

/**
 * An object that is nearly a plant: any of its members may be missing, doubled, spelled otherwise,
 * or of another kind.
 */
function objectOf(
  names: fc.Arbitrary<string>,
  value: fc.Arbitrary<string>,
  maxLength: number,
): fc.Arbitrary<string> {
  const member = fc.tuple(names, space, value).map(([name, gap, text]) => `${name}${gap}:${text}`);
  return fc.array(member, { minLength: 1, maxLength }).map((members) => `{${members.join(',')}}`);
}

const string = spelled(anyCharacter, 6).map(({ json }) => json);
const integer = fc
  .tuple(anyInt64, fc.nat(5), fc.nat(4))
  .map(([value, way, size]) => integerLiteral(value, way, size));
const anySpelling = (names: readonly string[]) => fc.oneof(...names.map(spelledAs));

const withoutOrder = objectOf(
  anySpelling([...usualNames, 'x']),
  fc.oneof(integer, string, string, jsonText),
  4,
).map((text) => Buffer.from(text));

const nearBounds = fc
  .tuple(
    fc.constantFrom(2n ** 53n, 2n ** 63n, 2n ** 64n, 10n ** 18n, 10n ** 19n, 1n, 0n),
    fc.bigInt({ min: -3n, max: 3n }),
    fc.boolean(),
    fc.nat(5),
    fc.nat(30),
  )
  .map(([near, by, negative, way, size]) =>
    integerLiteral(negative ? -(near + by) : near + by, way, size),
  );

const oddNumbers = fc.constantFrom(
  ...'-0.0e-0 01 - +1 .5 1.e1 1e+ 0x10 NaN "1" 1e1e1 0e999999999 -1E+99999999999999999999'.split(
    ' ',
  ),
  ...'１ 9223372036854775807.0000000000000000001 92233720368547758070e-1'.split(' '),
  '0.000000000000000001e18',
);

const asId = fc
  .tuple(
    fc.oneof(nearBounds, nearBounds, numberLiteral(60), numberLiteral(400), oddNumbers),
    fc.boolean(),
  )
  .map(([literal, first]) =>
    Buffer.from(first ? `{"id":${literal},"name":"a"}` : `{"name":"a","id":${literal}}`),
  );

const asText = fc
  .tuple(
    fc.oneof(
      string,
      fc.constantFrom(
        '"\\u0000"',
        '"\\ud83c"',
        '"\\udf31\\ud83c"',
        '"\\uD83C\\uDF31"',
        '"\\uffff\\ufffe\\ufdd0"',
        '"\uffff\u{1fffe}"',
      ),
      fc.constantFrom(
        '"\\\\u0000"',
        '"\\\\\\u0000"',
        '"\\ud83c\\\\udf31"',
        '"\\u000"',
        '"\\uD83C\\uD83C\\uDF31"',
        '"a\0"',
        '"a\u001f"',
        '"\\x00"',
      ),
    ),
    fc.nat(2),
    fc.oneof(fc.constant(1), fc.constant(1), fc.constant(1), fc.nat(2_000)),
  )
  .map(([json, way, times]) => {
    const long = `"${json.slice(1, -1).repeat(times)}"`;
    const ways = [
      `{"id":1,"name":${long}}`,
      `{"id":1,"name":"a","tag":${long}}`,
      `{"id":1,"name":"a",${long}:0}`,
    ];
    return Buffer.from(ways[way] as string);
  });

const randomBytes = fc.oneof(
  fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes)),
  fc
    .string({ unit: fc.constantFrom(...'{}[]",:\\u0019-+.eE tfn'), maxLength: 30 })
    .map((text) => Buffer.from(text)),
);

const anyText = fc.string({ unit: anyCharacter });
const anyJson = fc.oneof(jsonText, editedJsonText, fc.json(), anyText);

const kinds: Readonly<Record<string, readonly [weight: number, bodies: fc.Arbitrary<Buffer>]>> = {
  'a plant in any spelling': [8, plantBytes],
  'a plant with one to three bytes edited': [24, editedBytes],
  'a plant with broken UTF-8': [6, withBrokenUtf8],
  'a plant in another encoding': [4, otherEncodings],
  'members missing, doubled or of another kind': [14, withoutOrder],
  'any number as id': [16, asId],
  'any text as name or tag': [16, asText],
  'any JSON text, whole or broken': [4, anyJson.map((text) => Buffer.from(text))],
  'any JSON text in a member that is ignored': [
    12,
    anyJson.map((text) => Buffer.from(`{"id":1,"x":${text},"name":"a"}`)),
  ],
  'random bytes': [4, randomBytes],
};

export const hostileBody: fc.Arbitrary<HostileBody> = fc.oneof(
  ...Object.entries(kinds).map(([kind, [weight, bodies]]) => ({
    weight,
    arbitrary: bodies.map((bytes) => ({ kind, bytes })),
  })),
);
