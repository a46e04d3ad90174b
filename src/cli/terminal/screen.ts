import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import type { Environment } from '../../config/environment.ts';

/** What a line is, which shows in its colour where there are colours. */
export type Style = 'heading' | 'good' | 'warning' | 'bad';

/**
 * Standard output or standard error, as far as what is printed depends on whether a person looks at
 * it.
 */
export interface Screen {
  /** In columns; undefined for a file or a pipe. */
  readonly width: number | undefined;
  readonly hasColors: boolean;
  /**
   * Writes the line: to a terminal so that nothing in it can control that, elsewhere as it is.
   *
   * @returns what to wait for before many more lines, when the reader is slower
   */
  write(line: string, style?: Style): Promise<unknown> | undefined;
}

/** What a terminal has that does not say how wide it is. */
const usualWidth = 80;

const formats = { heading: 'bold', good: 'green', warning: 'yellow', bad: 'red' } as const;

export function screenOf(stream: WriteStream, env: Environment): Screen {
  // no-color.org: any value counts, also beside FORCE_COLOR, of which Node would have the last
  // word.
  const hasColors = stream.isTTY && !env['NO_COLOR'] && stream.hasColors(env);
  const shown = (line: string, style: Style | undefined) => {
    const harmless = visible(line);
    return style && hasColors
      ? styleText(formats[style], harmless, { validateStream: false })
      : harmless;
  };
  let drained: Promise<unknown> | undefined;
  return {
    get width() {
      return stream.isTTY ? stream.columns || usualWidth : undefined;
    },
    hasColors,
    write(line, style) {
      if (stream.write(`${stream.isTTY ? shown(line, style) : line}\n`)) return undefined;
      drained ??= new Promise((resolve) => stream.once('drain', resolve)).finally(
        () => (drained = undefined),
      );
      return drained;
    },
  };
}

/**
 * What moves the cursor, gives commands, ends a line or turns the text around: C0, DEL and C1, line
 * separators, marks of direction.
 */
const controls = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/**
 * The text with such characters as JSON escapes them, so that a line of JSON stays the same JSON.
 */
export function visible(text: string): string {
  return text.replace(controls, (one) => {
    const escaped = JSON.stringify(one).slice(1, -1);
    return escaped === one ? `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}` : escaped;
  });
}
