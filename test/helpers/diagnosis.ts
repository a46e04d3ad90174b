import assert from 'node:assert/strict';
import { runHere } from './run-here.ts';

export interface Diagnosis {
  readonly code: number | null;
  /** What each line says, its level first, by the name of the check. */
  readonly lines: Readonly<Record<string, string>>;
}

/** What doctor says of a store. @param store as `--store` takes it */
export async function diagnose(store: string): Promise<Diagnosis> {
  const { code, stdout, stderr } = await runHere(['doctor', '--json', '--store', store]);
  assert.equal(stderr, '');
  const found = stdout.trimEnd().split('\n');
  const findings = found.map((line) => JSON.parse(line));
  return {
    code,
    lines: Object.fromEntries(
      findings.map(({ check, level, says }) => [check, `${level} ${says}`]),
    ),
  };
}

/** Of a machine and its operator: these lines may be warnings for a sound store. */
const ofMachine = ['user', 'file system', 'free space'];

export function assertSound({ code, lines }: Diagnosis): void {
  assert.equal(code, 0);
  for (const [name, line] of Object.entries(lines))
    assert.match(line, ofMachine.includes(name) ? /^(ok|warning) / : /^ok /, name);
}
