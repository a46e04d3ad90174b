/** The result of a check. */
export interface Finding {
  readonly level: 'ok' | 'warning' | 'error';
  /** The figure that was found, and what to do if the level is not `ok`. */
  readonly says: string;
}

export type NamedFinding = Finding & { readonly name: string };

export interface Check<Setting> {
  readonly name: string;
  /** @returns undefined if the check does not apply */
  readonly find: (setting: Setting) => Finding | undefined;
}

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
