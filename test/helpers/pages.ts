import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../..', import.meta.url));

/** Every page of the project. README.md is the first: other pages build on what its commands make. */
export const pages = globSync(['*.md', '{bench,clients,docs,monitoring,test}/**/*.md'], {
  cwd: root,
  exclude: ['**/node_modules/**'],
}).sort((a, b) => Number(b === 'README.md') - Number(a === 'README.md') || (a < b ? -1 : 1));

/** A fenced block of a page, with the language of its fence. */
export interface Block {
  readonly page: string;
  readonly language: string;
  readonly text: string;
}

export function blocksOf(page: string): Block[] {
  return blocksIn(page, readPage(page));
}

/** The blocks below one heading of the second level. */
export function blocksUnder(page: string, heading: string): Block[] {
  const sections = readPage(page).split(/^## /m);
  return blocksIn(page, sections.find((text) => text.startsWith(`${heading}\n`)) ?? '');
}

/** The blocks of a text of the page. */
export function blocksIn(page: string, content: string): Block[] {
  const found = content.matchAll(/^( *)```(\w*)\n(.*?)^\1```/gms);
  return [...found].map(([, indent = '', language = '', text = '']) => ({
    page,
    language,
    text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  }));
}

export function readPage(page: string): string {
  return readFileSync(join(root, page), 'utf8');
}
