import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The licences of the npm packages that the program contains.
 *
 * @param inputs the files in it, relative to the root of the project
 */
export function licences(inputs: readonly string[]): string {
  return packagesIn(inputs).map(licence).join('\n');
}

function packagesIn(inputs: readonly string[]): string[] {
  const names = inputs.map((input) => /^node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1]);
  return [...new Set(names.filter((name) => name !== undefined))].sort();
}

function licence(name: string): string {
  const folder = join('node_modules', name);
  const { version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const texts = readdirSync(folder)
    .filter((file) => /^(licen[cs]e|notice)/i.test(file))
    .map((file) => readFileSync(join(folder, file), 'utf8').trim());
  return `${'-'.repeat(80)}\n${name} ${version} (${license})\n\n${texts.join('\n\n')}\n`;
}
