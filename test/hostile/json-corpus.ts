import { brokenUtf8, encodings } from './hostile-bodies.ts';

/*
 * Texts at and beyond the edges of JSON, by what is special about them. Whether each is JSON is not said here: that is
 * for the reference and for the service to tell, each by its own means.
 */

type Part = string | readonly number[];

function bytes(...parts: readonly Part[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));
}

function each<T>(values: Iterable<T>, make: (value: T) => string | Buffer): Buffer[] {
  return Array.from(values, (value) => Buffer.from(make(value) as string));
}

const character = (code: number) => String.fromCodePoint(code);
const controls = Array.from({ length: 0x20 }, (_, code) => character(code));

/** What Unicode, JavaScript or a careless reader takes for white space or a line end, and RFC 8259 does not. */
const otherSpaces = [0x0b, 0x0c, 0x85, 0xa0, 0x1680, 0x180e, 0x2000, 0x200b, 0x2028, 0x2029, 0x202f, 0x2060, 0x3000, 0xfeff].map(character);

const ordinary = ['null', 'true', 'false', '0', '""', '"Alder"', '[]', '{}', '[1,"a",null]', '{"a":{"b":[]}}', ' 7 ', '\t"a"\r\n'];

const numbers = [
  ...['-0', '-1', '0.0', '-0.0', '0e0', '0E-0', '1e0', '1E+1', '1.0', '1.50e1', '10e-1', '1e-0', '-1e+00', '1e00000000000000000001'],
  ...['9007199254740991', '9007199254740992', '9007199254740993', '-9007199254740993', '9007199254740993.0', '90071992547409930e-1'],
  ...['9223372036854775806', '9223372036854775807', '9223372036854775808', '-9223372036854775808', '-9223372036854775809'],
  ...['9223372036854775807.0', '9.223372036854775807e18', '9.223372036854775808e18', '-9.223372036854775808E18'],
  ...['0.9223372036854775807e19'],
  ...['9223372036854775807.5', '9223372036854775806.9999999999999999999', '18446744073709551615', '18446744073709551616'],
  ...['-18446744073709551616'],
  ...['1e18', '9e18', '1e19', '-1e19', '1e308', '1e309', '-1e309', '1e-400', '1e999999999', '-1e999999999', '1e-999999999'],
  ...['0e999999999', '0.000e-999'],
  ...['0.1', '-0.5', '1.5', '1.05e1', '123e-2', '1200e-2', '0.1e1', '4.9e-324', '2.2250738585072014e-308', '1.7976931348623157e308'],
  ...['0.30000000000000004'],
  `1${'0'.repeat(400)}`,
  `0.${'0'.repeat(400)}1e401`,
  `1${'0'.repeat(400)}e-400`,
  `1e${'0'.repeat(400)}1`,
  `1e${'9'.repeat(400)}`,
  `1e-${'9'.repeat(400)}`,
  `0.${'9'.repeat(400)}`,
  '9'.repeat(400),
];

const brokenNumbers = [
  ...['-', '+', '+1', '-+1', '--1', '++1', '.', '.5', '-.5', '5.', '-5.', '5.e1', '5.-1', '0.', '0.e1', '1.2.3', '1..2', '1e', '1E'],
  ...['1e+', '1E-'],
  ...['1e1.5', '1e1e1', '1ee1', '1e+-1', '1 e1', '1e 1', '- 1', '1 .5', '1. 5', '00', '01', '-00', '-01', '007', '0x', '0x1F', '0X1f'],
  ...['0b1', '0o7'],
  ...['1_000', '1,000', "1'000", '1n', '1f', '1L', '1u', '1d', '5%', '$5', '1/2', '1+1', '2-1', '1:1', '(1)', '1;', '1a', '1"', '1['],
  ...['1]', '1}'],
  ...['NaN', '-NaN', 'nan', 'Infinity', '-Infinity', '+Infinity', 'inf', '1.#INF', '１', '１２', '١', '१', '1\u00a0', '−1', '1\u200b', '²'],
  ...['½', '1e５'],
];

const words = [
  ...['nul', 'nulll', 'Null', 'NULL', 'nil', 'None', 'undefined', 'tru', 'truee', 'True', 'TRUE', 'fals', 'falsee', 'False', 'yes', 'no'],
  ...['on'],
  ...['nullnull', 'truefalse', 'null,', 'n', 't', 'f', 'a', 'Alder', 'nul\\u006c', 'ｎｕｌｌ', 'n ull', '-null', '+true', 'void 0', '$ref'],
  ...['@', '#'],
];

const goodStrings = [
  ...['"\\""', '"\\\\"', '"\\/"', '"/"', '"\\b\\f\\n\\r\\t"', '"\\u0041"', '"\\u00e9"', '"\\u00E9"', '"é"', '"e\u0301"', '"\u212b"'],
  ...['"ﬁ"', '"İıß"'],
  ...[
    '"\\ud83c\\udf31"',
    '"\\uD83C\\uDF31"',
    '"\\uD83c\\udF31"',
    '"🌱"',
    '"👩‍👩‍👧‍👦🏽"',
    '"\\udbff\\udfff"',
    '"\u{10ffff}"',
    '"\u{10000}"',
  ],
  ...['"\\ud800\\udc00"'],
  ...['"\uffff"', '"\\uffff"', '"\\ufffe"', '"\ufdd0"', '"\\ufdef"', '"\u{1ffff}"', '"\ufffd"', '"\\ufffd"', '"\ufeff"', '"\\ufeff"'],
  ...['"\ue000"', '"\u{f0000}"'],
  ...['"\u007f"', '"\u0080"', '"\u009f"', '"\u2028\u2029"', '"\\u2028"', '"\u202e"', '"\u200d"', '"\\u0001"', '"\\u001f"', '"\\u007f"'],
  ...['"\\u0020"', '" "', '"  a  "'],
  ...['"\\\\u0000"', '"\\\\\\\\"', '"\\\\\\""', '"\\u005c"', '"\\u0022"', '"\\u005cu0041"', '"[{}]:,"', '"//"', '"/**/"', '"null"'],
  ...['"1"', '"\'"', '"`$(a)`"'],
  ...['"\'; DROP TABLE plants; --"', '"<script>"', '"%00"', '"\\\\0"', '"%s%n"', '"{{a}}"', '"../.."', '"=1+1"', '"NULL"'],
  `"${'a'.repeat(10_000)}"`,
  `"${'🌱'.repeat(3_000)}"`,
  `"${'\\u0061'.repeat(2_000)}"`,
  `"${'\\\\'.repeat(2_000)}"`,
];

/** JSON by its grammar, but text that is not kept. */
const unstorableStrings = [
  ...['"\\u0000"', '"a\\u0000b"', '"\\u0000\\u0000"', '"\\ud800"', '"\\udbff"', '"\\udc00"', '"\\udfff"', '"\\uD83C"', '"a\\ud83cb"'],
  ...['"\\udf31\\ud83c"'],
  ...['"\\ud83c\\ud83c"', '"\\ud83c\\ud83c\\udf31"', '"\\ud83c\\udf31\\udf31"', '"\\ud83c \\udf31"', '"\\ud83c\\\\udf31"'],
  ...['"\\ud83c\\n"', '"\\ud83c🌱"', '"🌱\\udf31"'],
];

const brokenStrings = [
  ...['"', '"a', 'a"', '"a""', '""a', '"""', '""""', '"a" "b"', '"a"+"b"', "'a'", '`a`', '“a”', '«a»', '\\"a\\"', '&quot;a&quot;', 'a'],
  ...["''", '"a\''],
  ...['"\\', '"\\"', '"a\\', '"\\\\\\"', '"\\a"', '"\\v"', '"\\0"', '"\\e"', '"\\\'"', '"\\`"', '"\\ "', '"\\\n"', '"\\\t"', '"\\N"'],
  ...['"\\B"', '"\\x41"', '"\\101"'],
  ...['"\\u"', '"\\u0"', '"\\u00"', '"\\u004"', '"\\u004', '"\\u004g"', '"\\u-041"', '"\\u+041"', '"\\u 041"', '"\\u00 41"', '"\\U0041"'],
  ...['"\\u{41}"'],
  ...['"\\u００４１"', '"\\u0x41"', '"\\ud83c\\u"', '"\\ud83c\\udf3"', '"\\ud83c\\udf3g"', '"\\ud83c\\"', '"\\é"', '"\\🌱"', '"\\/'],
  ...['\\u0022a\\u0022', '\\n'],
];

const lists = [
  ...['[ ]', '[\n]', '[[]]', '[[],[]]', '[1,2,3]', '[1 , 2]', '[{}]', '[null,null]', '["",""]', '[[[[[[]]]]]]', '[1,[2,[3]]]'],
  ...['[{"a":1,"a":2}]'],
  ...['[', ']', '[[', ']]', '[]]', '[[]', '[1', '1]', '[,]', '[,1]', '[1,]', '[1,,2]', '[,,]', '[1 2]', '[1;2]', '[1:2]', '[1}', '{1]'],
  ...['[a]', '[1,a]', '[\\]'],
  ...['["a"', '["a', '["a",', '["a"]]', '[""],', '[1]x', '[x]', '["a" "b"]', '[1,\n', '[*]', '[...]', '(1,2)', '<1>', '[1.]', '[-]'],
  ...['[+1]', '[.5]', '[true false]'],
];

const objects = [
  ...['{ }', '{\n}', '{"":0}', '{"":{"":{}}}', '{"a":1}', '{"a":1,"b":2}', '{ "a" : 1 , "b" : 2 }', '{"a":[],"b":{}}', '{"\\u0000":0}'],
  ...['{"\\ud83c":0}'],
  ...['{"__proto__":1}', '{"__proto__":{"id":1}}', '{"constructor":{"prototype":1}}', '{"toString":1,"valueOf":2,"hasOwnProperty":3}'],
  ...['{"length":1}'],
  ...['{"id":1,"id":2}', '{"a":1,"a":1}', '{"a":1,"\\u0061":1}', '{"a":{"b":1,"b":2}}', '{"é":1,"e\u0301":2}', '{"a":1,"A":2}'],
  ...['{"1":1,"0":0}'],
  ...['{', '}', '{{', '}}', '{}}', '{{}', '{{}}', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a', '{,}', '{,"a":1}', '{"a":1,}'],
  ...['{"a":1,,"b":2}', '{"a":,"b":1}'],
  ...['{"a"}', '{"a",1}', '{"a" 1}', '{"a"=1}', '{"a"=>1}', '{"a"::1}', '{"a":1:2}', '{"a":1 "b":2}', '{"a":1;"b":2}', '{"a":1]'],
  ...['["a":1]', '{:1}', '{"a":}'],
  ...["{'a':1}", '{a:1}', '{1:1}', '{null:1}', '{[]:1}', '{"a":1}{"b":2}', '{"a":1},', '{"a":1}x', '{"a":1}#', '{"a":1}//', '{"a":1}\0'],
  ...['{"a":a}', '{"a":\'b\'}'],
  ...['{"a":1 , }', '{"a" "b"}', '{"a":"b"', '{"a":"b}', '{"a":"b"}"', '{"\\":1}', '{"a\n":1}', '{...a}', '{"a"?:1}', '{"a":<b>}'],
  ...['{/**/}', '{#a\n}', '{"a":1/**/}'],
];

const otherLanguages = [
  ...['// a\n1', '1 // a', '/* a */1', '1/* a */', '# a\n1', '<!-- a -->1', '1 -- a', '<a/>', '<?xml version="1.0"?><a/>', 'a: 1', '- 1'],
  ...['---\n1', '%YAML 1.2'],
  ...['id=1&name=a', 'id,name\n1,a', '[a]\nb=1', 'a = 1', 'callback(1)', 'var a=1', 'new Date()', '/a/', 'Symbol()', '{"$date":1}x'],
  ...[")]}',\n1", 'while(1);1'],
  ...['1\n2', '1\n1\n', '{}\n{}', '[]\n[]', '\u001e{}', '{}\u0004', 'null null', '"a"\n"b"', '\\', '^', '~', '|', '&', '?', '!', '='],
  ...[';', ',', ':', '.', '*', '_'],
];

const spaces = [
  ...[' ', '\n', '\t', '\r', '\r\n \t', ' 1', '1 ', '\n1\n', '\r1\r', '\t1\t', ' \t\n\r1\r\n\t ', `${' '.repeat(5_000)}1`],
  ...[`1${'\n'.repeat(5_000)}`],
  ...['[ 1 , 2 ]', '{ "a" : 1 }', '\n{\r"a"\t: 1\n}', ''],
];

const levels = (open: string, close: string, depth: number, core = '') => `${open.repeat(depth)}${core}${close.repeat(depth)}`;
const depths = [90, 96, 97, 98, 99, 100, 101, 102, 500];
const deep = [
  ...depths.flatMap((depth) => [levels('[', ']', depth), levels('{"a":', '}', depth, '1')]),
  ...[49, 50, 51].map((depth) => levels('[{"a":', '}]', depth, '1')),
  levels('[', ']', 98, '"]]]"'),
  `[${Array.from({ length: 50 }, () => levels('[', ']', 90)).join(',')}]`,
  '['.repeat(20_000),
  '{"a":'.repeat(20_000),
  levels('[', ']', 20_000),
];

/** By kind. Most are broken somewhere: that is where readers differ. */
export const jsonCorpus: Readonly<Record<string, readonly Buffer[]>> = {
  'ordinary values': each(ordinary, (text) => text),
  'numbers of every spelling': each(numbers, (text) => text),
  'what is nearly a number': each(brokenNumbers, (text) => text),
  'what is nearly a word': each(words, (text) => text),
  'strings of every spelling': each(goodStrings, (text) => text),
  'strings that cannot be kept': each(unstorableStrings, (text) => text),
  'what is nearly a string': each(brokenStrings, (text) => text),
  'lists, whole and broken': each(lists, (text) => text),
  'objects, whole and broken': each(objects, (text) => text),
  'other languages and comments': each(otherLanguages, (text) => text),
  'white space': each(spaces, (text) => text),
  'other white space around a value': otherSpaces.flatMap((space) => each([`${space}1`, `1${space}`, `[1,${space}2]`], (text) => text)),
  'other white space in a string': each(otherSpaces, (space) => (space < ' ' ? `"a"${space}` : `"${space}"`)),
  'control characters in a string': each(controls, (control) => `"a${control}b"`),
  'control characters before a value': each(controls, (control) => `${control}1`),
  'control characters after a value': each(controls, (control) => `1${control}`),
  'control characters, escaped': each(controls, (control) => `"\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}"`),
  'letters after a backslash': each('abcdefghijklmnopqrstuvwxyzABFNRTU019\'"/\\', (letter) => `"\\${letter}"`),
  nesting: each(deep, (text) => text),
  'UTF-8 to its ends': each(
    [0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xfffd, 0xffff, 0x10000, 0x10ffff],
    (code) => `"${character(code)}"`,
  ),
  'broken UTF-8 in a string': Object.values(brokenUtf8).flatMap((all) => all.map((broken) => bytes('"a', broken, 'b"'))),
  'broken UTF-8 outside of a string': Object.values(brokenUtf8).flatMap((all) =>
    all.flatMap((broken) => [bytes(broken), bytes('1', broken)]),
  ),
  'a UTF-8 sequence cut by a quote': each([1, 2, 3], (length) => bytes('"', [...Buffer.from('🌱')].slice(0, length), '"')),
  'other encodings': Object.values(encodings).flatMap((encode) => each(['"é"', '1', '{}', ''], encode)),
  'byte order marks': each(
    ['\ufeff', '\ufeff1', '1\ufeff', '\ufeff\ufeff1', ' \ufeff1', '"\ufeff"', '[\ufeff]', '{\ufeff"a":1}'],
    (text) => text,
  ),
};

/** Where a text stands in a body. `n` is an id that no other body has. */
export const wraps: Readonly<Record<string, (text: Buffer, n: number) => Buffer>> = {
  'the whole body': (text) => text,
  'an ignored member': (text, n) => around(`{"id":${n},"name":"Alder","x":`, text, '}'),
  'the first of the members': (text, n) => around('{"x":', text, `,"id":${n},"name":"Alder"}`),
  'the name': (text, n) => around(`{"id":${n},"name":`, text, ',"tag":"Alnus"}'),
  'the tag': (text, n) => around(`{"tag":`, text, `,"id":${n},"name":"Alder"}`),
  'the id': (text) => around('{"id":', text, ',"name":"Alder"}'),
  'a member name': (text, n) => around('{', text, `:0,"id":${n},"name":"Alder"}`),
  'nested lists': (text, n) => around(`{"id":${n},"name":"Alder","x":[[0,{"y":[`, text, ']},0]]}'),
  'the text of a name': (text, n) => around(`{"id":${n},"name":"`, text, '"}'),
};

function around(before: string, text: Buffer, after: string): Buffer {
  return Buffer.concat([Buffer.from(before), text, Buffer.from(after)]);
}

/** Whole bodies about the members of a plant. `N` becomes an id that no other body has. */
export const plantCorpus: Readonly<Record<string, readonly string[]>> = {
  'members in any order, spelling and company': [
    ...['{"id":N,"name":"a"}', '{"name":"a","id":N}', '{"tag":"","name":"","id":N}', ' {\n"id"\t:\rN , "name" : "a" } '],
    ...['{"\\u0069d":N,"n\\u0061me":"a"}'],
    ...['{"id":N,"name":"a","Id":"x","NAME":1,"Tag":null}', '{"id":N,"name":"a","":0}', '{"id":N,"name":"a","id ":1," id":2}'],
    ...['{"id":N,"name":"a","\\u0000":0}'],
    ...['{"id":N,"name":"a","ｉｄ":1}', '{"id":N,"name":"a","tag":"b","x":{"id":1,"id":2,"tag":null}}'],
    ...['{"id":N,"name":"a","x":1e999999999}', '{"id":N,"name":"a","\\ud83c":"\\ud83c"}'],
  ],
  'a member given twice': [
    ...['{"id":N,"id":N,"name":"a"}', '{"id":N,"name":"a","name":"a"}', '{"id":N,"name":"a","tag":"b","tag":"b"}'],
    ...['{"id":N,"name":"a","x":1,"x":1}'],
    ...['{"id":N,"\\u0069d":N,"name":"a"}', '{"i\\u0064":N,"\\u0069d":N,"name":"a"}'],
    ...['{"id":N,"name":"a","\\u006e\\u0061\\u006d\\u0065":"b"}', '{"id":N,"name":"a","":0,"":0}'],
    ...['{"id":N,"name":"a","/":0,"\\/":0}', '{"id":N,"name":"a","🌱":0,"\\ud83c\\udf31":0}'],
    ...['{"id":N,"name":"a","\\ud83c":0,"\\uD83C":0}', '{"id":"x","name":"a","id":N}'],
    ...['{"id":N,"name":null,"name":"a"}', '{"id":N,"name":"a","tag":null,"tag":"b"}', '{"id":N,"name":"a","x":{"y":1},"x":{}}'],
    ...['{"id":N,"name":"a","\\n":0,"\\u000a":0}'],
    ...['{"id":N,"name":"a","__proto__":0,"__proto__":0}', '{"id":N,"name":"a","constructor":0,"constructor":0}', '{"id":1.5,"id":1.5}'],
    ...['{"a":0,"a":0}'],
  ],
  'names that every object has': [
    ...[
      '__proto__',
      'constructor',
      'prototype',
      'toString',
      'hasOwnProperty',
      'valueOf',
      'toJSON',
      '__defineGetter__',
      'isPrototypeOf',
    ].flatMap((name) => [
      `{"id":N,"name":"a","${name}":{"tag":"b","id":1}}`,
      `{"${name}":{"id":1,"name":"b"},"id":N,"name":"a"}`,
      `{"${name}":{"id":1,"name":"b"}}`,
      `{"id":N,"name":"a","x":{"${name}":{"${name}":1}}}`,
      `{"id":N,"name":"${name}","tag":"${name}"}`,
      `{"id":N,"name":"a","${name}":null,"${name}":null}`,
    ]),
    ...['{"id":N,"__proto__":{"name":"a"}}', '{"name":"a","__proto__":{"id":N}}', '{"id":N,"name":"a","\\u005f_proto__":{"tag":"b"}}'],
    ...['{"__proto__":null,"id":N,"name":"a"}'],
  ],
  'members missing or of the wrong type': [
    ...['{}', '{"id":N}', '{"name":"a"}', '{"tag":"a"}', '{"id":N,"tag":"a"}', '{"ID":N,"NAME":"a"}', '{"plant":{"id":N,"name":"a"}}'],
    ...['[{"id":N,"name":"a"}]', '[N,"a"]'],
    ...['null', 'true', 'false', '"x"', '[]', '{}', '"N"', '[N]', '{"id":N}'].map((id) => `{"id":${id},"name":"a"}`),
    ...['null', 'true', 'false', '1', '[]', '{}', '["a"]', '{"name":"a"}'].flatMap((text) => [
      `{"id":N,"name":${text}}`,
      `{"id":N,"name":"a","tag":${text}}`,
    ]),
  ],
  'several faults at once': [
    ...['{"id":1.5,"name":1}', '{"id":1.5,"name":"\\u0000"}', '{"id":1e99,"name":"a","tag":null}', '{"id":"N","name":"\\ud83c"}'],
    ...['{"id":1.5,"name":"a"}x', '{"id":1.5,"name":"a"'],
    ...['{"id":N,"name":"\\u0000","tag":1}', '{"id":N,"name":"\\u0000","name":"a"}', '{"id":1.5,"id":1.5,"name":"a"}', '{"id":1.5}'],
    ...['{"name":"\\ud83c"}', '{"id":N,"name":"\\ud83c","tag":"\\u0000"}'],
  ],
};
