import type { Terminal } from '../command.ts';
import type { Style } from './screen.ts';
import { hanging } from './wrap.ts';

export type Fact = readonly [name: string, value: string, style?: Style | undefined];

/** Prints names with their values beside them. */
export function printFacts(
  facts: readonly Fact[],
  { print, width = Number.POSITIVE_INFINITY }: Terminal,
): void {
  const indent = Math.max(...facts.map(([name]) => name.length)) + 2;
  for (const [name, value, style] of facts)
    for (const line of hanging(name, value, indent, width)) print(line, style);
}

/** What a check has found. */
interface Finding {
  readonly level: 'ok' | 'warning' | 'error';
  readonly name: string;
  readonly says: string;
}

const styles = { ok: undefined, warning: 'warning', error: 'bad' } as const;

export function printFindings(findings: readonly Finding[], { print, width }: Terminal): void {
  const nameChars = Math.max(...findings.map(({ name }) => name.length));
  const indent = 'warning'.length + nameChars + 2 * '  '.length;
  for (const { level, name, says } of findings) {
    const title = `${level.padEnd('warning'.length)}  ${name}`;
    for (const line of hanging(title, says, indent, width ?? Number.POSITIVE_INFINITY))
      print(line, styles[level]);
  }
}
