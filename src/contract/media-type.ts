/** Source of a regular expression (RFC 9110 §5.6.2). */
export const tokenCharacter = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]";

/** Source of a regular expression (RFC 9110 §5.6.4). */
export const quotedString = '"(?:[\\t !#-\\[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*"';

const token = `${tokenCharacter}+`;
const parameter = `${token}=(?:${token}|${quotedString})`;
const utf8 = '(?:utf-8|"\\\\?u\\\\?t\\\\?f\\\\?-\\\\?8")';

/** RFC 9110 §8.3.1, §5.6.6. Each charset must be UTF-8. Other parameters are ignored. */
const jsonInUtf8 = new RegExp(
  `^application/json(?:[ \\t]*;(?:[ \\t]*(?:charset=${utf8}|(?!charset=)${parameter}))?)*$`,
  'i',
);

/** Takes one line: a comma between joined lines could be read as a part of a quoted string. */
export function isJsonInUtf8(contentTypes: readonly string[] | undefined): boolean {
  const [contentType = ''] = contentTypes ?? [];
  return (
    contentTypes?.length === 1 &&
    (contentType === 'application/json' || jsonInUtf8.test(contentType))
  );
}
