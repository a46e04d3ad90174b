/** `npm run screenshots`: copies the pictures of the browser tests that the pages show. */
import { copyFileSync, globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

const root = join(import.meta.dirname, '..');
const pages = globSync(['README.md', 'docs/**/*.md'], { cwd: root }).map((page) =>
  readFileSync(join(root, page), 'utf8'),
);

for (const picture of globSync('test/browser/screenshots/*.png', { cwd: root })) {
  const name = basename(picture);
  if (pages.some((page) => page.includes(`images/${name})`)))
    copyFileSync(join(root, picture), join(root, 'docs/images', name));
}
