import type { WriteStream } from 'node:tty';
import { styleText } from 'node:util';
import { escaped } from '../../contract/excerpt.ts';
import type { Environment } from '../flags/environment.ts';

export type Style = 'heading' | 'good' | 'warning' | 'bad';

/** Columns of a terminal that does not tell its width. */
const usualWidth = 80;

const formats = { heading: 'bold', good: 'green', warning: 'yellow', bad: 'red' } as const;

export function screenOf(stream: WriteStream, env: Environment) {
  // no-color.org: any value counts. For Node, FORCE_COLOR would count more.
  const hasColors = stream.isTTY && !env['NO_COLOR'] && stream.hasColors(env);
  const shown = (line: string, style: Style | undefined) => {
    const harmless = visible(line);
    return style && hasColors
      ? styleText(formats[style], harmless, { validateStream: false })
      : harmless;
  };
  let drained: Promise<unknown> | undefined;
  return {
    /** Columns. Undefined for a file or a pipe. */
    get width() {
      return stream.isTTY ? stream.columns || usualWidth : undefined;
    },
    hasColors,
    /** Without control characters on a terminal. @returns what to wait for if the reader is slow */
    write(line: string, style?: Style): Promise<unknown> | undefined {
      if (stream.write(`${stream.isTTY ? shown(line, style) : line}\n`)) return undefined;
      drained ??= new Promise((resolve) => stream.once('drain', resolve)).finally(
        () => (drained = undefined),
      );
      return drained;
    },
  };
}

/** Characters that control a terminal, end a line or change the direction of text. */
const controls = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** Escapes control characters as JSON does, so that a line of JSON keeps its meaning. */
export function visible(text: string): string {
  return text.replace(controls, escaped);
}
