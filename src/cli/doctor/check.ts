export interface Finding {
  readonly level: 'ok' | 'warning' | 'error';
  /** The figure that was found, and what to do if the level is not `ok`. */
  readonly says: string;
}

export type NamedFinding = Finding & { readonly name: string };

export function named(found: Readonly<Record<string, Finding | undefined>>): NamedFinding[] {
  return Object.entries(found).flatMap(([name, finding]) =>
    finding ? [{ ...finding, name }] : [],
  );
}

export function ok(figure: string): Finding {
  return { level: 'ok', says: figure };
}

export const warning = withRemedy('warning');
export const error = withRemedy('error');

function withRemedy(level: Finding['level']) {
  return (figure: string, remedy: string): Finding => ({ level, says: `${figure}; ${remedy}` });
}

/** @param identity undefined before the upgrade of an earlier version */
export function storeText(identity: string | undefined): string {
  return `a plant store${identity === undefined ? '' : ` with the identity ${identity}`}`;
}
