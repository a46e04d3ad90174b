/** A part of a line. */
export interface Part {
  readonly text: string;
  /** Parts with a lower rank give way first. */
  readonly rank: number;
}

/** The parts with commas between them: all that fit into the columns, and at least one. */
export function fitted(parts: readonly Part[], columns: number): string {
  const text = parts.map((part) => part.text).join(', ');
  if (text.length <= columns || parts.length <= 1) return text;
  const least = Math.min(...parts.map(({ rank }) => rank));
  return fitted(
    parts.filter(({ rank }) => rank > least),
    columns,
  );
}
