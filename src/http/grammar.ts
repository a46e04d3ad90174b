/** Source of a regular expression (RFC 9110 §5.6.2). */
export const tokenCharacter = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]";

/** Source of a regular expression (RFC 9110 §5.6.4). */
export const quotedString = '"(?:[\\t !#-\\[\\]-~\\x80-\\xff]|\\\\[\\t -~\\x80-\\xff])*"';

/** RFC 3986 §3.2.2, without the empty `reg-name`. */
const host = String.raw`(?:\[[0-9A-Fa-fv:.]+\]|(?:[A-Za-z0-9\-._~!$&'()*+,;=]|%[0-9A-Fa-f]{2})+)`;
/** RFC 3986 §3.3, with slashes between the segments. */
const path = String.raw`(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*`;
const query = path.replace('@/', '@/?');

/** uri-host [":" port], or nothing (RFC 9110 §7.2). */
export const validHost = new RegExp(`^${host}?(?::[0-9]*)?$`);

const originOrAbsoluteForm = new RegExp(
  `^(?:(?=/)|https?://${host}(?::[0-9]*)?(?=[/?]|$))(${path})(?:\\?${query})?$`,
  'i',
);

/** The path of a request target; undefined if the target is malformed (RFC 9112 §3.2). */
export function pathOf(target: string): string | undefined {
  return target === '*' ? target : originOrAbsoluteForm.exec(target)?.[1];
}
