/** One character of a token, for use in a regular expression (RFC 9110 §5.6.2). */
export const tokenCharacter = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]";

/** For use in a regular expression (RFC 9110 §5.6.4). */
export const quotedString = '"(?:[\\t !#-\\[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*"';

/** RFC 3986 §3.2.2; `reg-name` without the empty one. */
const host = String.raw`(?:\[[0-9A-Fa-fv:.]+\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})+)`;
/** RFC 3986 §3.3, and the slashes between the segments. */
const path = String.raw`(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*`;
const query = path.replace('@/', '@/?');

/** uri-host [":" port], or nothing (RFC 9110 §7.2). */
export const validHost = new RegExp(`^${host}?(?::[0-9]*)?$`);

const originOrAbsoluteForm = new RegExp(
  `^(?:(?=/)|https?://${host}(?::[0-9]*)?(?=[/?]|$))(${path})(?:\\?${query})?$`,
  'i',
);

/**
 * The path in a request target, without its query; undefined if it is not of a form that RFC 9112
 * §3.2 gives requests other than CONNECT.
 */
export function pathOf(target: string): string | undefined {
  return target === '*' ? target : originOrAbsoluteForm.exec(target)?.[1];
}
