/**
 * What a check has found: what is there, with its figure, and, if it is not as it should be, what
 * to do about it.
 */
export interface Finding {
  readonly level: 'ok' | 'warning' | 'error';
  readonly says: string;
}

export type NamedFinding = Finding & { readonly name: string };

export interface Check<Setting> {
  readonly name: string;
  /** @returns undefined if there is nothing to check */
  readonly find: (setting: Setting) => Finding | undefined;
}

/** Does the checks in their order. */
export function findings<Setting>(
  checks: readonly Check<Setting>[],
  setting: Setting,
): NamedFinding[] {
  return checks.flatMap(({ name, find }) => {
    const finding = find(setting);
    return finding === undefined ? [] : [{ ...finding, name }];
  });
}

export function ok(figure: string): Finding {
  return { level: 'ok', says: figure };
}

export function warning(figure: string, remedy: string): Finding {
  return { level: 'warning', says: `${figure}; ${remedy}` };
}

export function error(figure: string, remedy: string): Finding {
  return { level: 'error', says: `${figure}; ${remedy}` };
}
