import { type Block, blocksUnder } from '../../test/helpers/pages.ts';

const waitForReady = `trap 'kill $!; wait' EXIT
until grep --quiet --no-messages '"ready"' serve.log; do
  kill -0 $! || { cat serve.log; exit 1; }
  sleep 0.1
done`;

/** The commands in a section of the installation page as a script for bash. */
export function shownIn(section: string): string {
  return scriptOf(blocksUnder('docs/operate/install.md', section));
}

/** A line that starts the service leaves the service running until the end of the script. */
export function scriptOf(blocks: readonly Block[]): string {
  const lines = blocks.flatMap(({ text }) => text.trimEnd().split('\n'));
  const typed = lines.map((line) =>
    line.endsWith(' serve') ? `${line} > serve.log 2>&1 &\n${waitForReady}` : line,
  );
  return ['set -eu', curlThatFails, ...typed].join('\n');
}

/** curl as it is shown, but a reply that is an error ends the script. */
export const curlThatFails = 'curl() { command curl --silent --show-error --fail-with-body "$@"; }';

export const firstPlant = '{"name":"Alder","tag":"Alnus"}';
