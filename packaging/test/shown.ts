import assert from 'node:assert/strict';
import { type Block, blocksUnder, readPage } from '../../test/helpers/pages.ts';

const waitForReady = `trap 'kill $!; wait' EXIT
until grep --quiet --no-messages '"ready"' serve.log; do
  kill -0 $! || { cat serve.log; exit 1; }
  sleep 0.1
done`;

const page = 'docs/operate/install.md';

/**
 * The commands in a section of the installation page as a script for bash, and then the first create
 * with the token of this form.
 */
export function shownIn(section: string): string {
  const row = new RegExp(`\\| .*${section}.*\\| \`(.*?)\``, 'i').exec(readPage(page));
  const file = row?.[1] ?? assert.fail(`${page} names no token for: ${section}`);
  const create = blocksUnder(page, 'The first plant').map((block) => ({
    ...block,
    text: block.text.replace(/(?<=^TOKEN_FILE=).*/, file),
  }));
  return scriptOf([...blocksUnder(page, section), ...create]);
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
