import { resolve } from 'node:path';
import { tokenVariable } from '../cli/flags/command-line.ts';
import { reachable } from '../hosts.ts';
import { version } from '../program.ts';
import { shellQuoted } from '../store/command-text.ts';
import { engineOf } from '../store/engines.ts';
import { isTokenAdmitted, readFirstToken } from '../tokens/first-token.ts';
import type { ServiceConfig } from './config.ts';
import type { Service } from './service.ts';

/** The first lines on a terminal, with a create to copy into a shell. */
export function welcome(service: Service, config: ServiceConfig, token: TokenToTry): string[] {
  const { plantsUrl, store } = service;
  const durability = store.durability();
  return [
    `Plant Store ${version} is ready.`,
    `  address  ${plantsUrl}`,
    `  docs     ${reachableUrl(plantsUrl).replace(/plants$/, 'docs')}`,
    `  store    ${engineOf(config.store).name}${store.isNew ? ' (new: there was none)' : ''}`,
    ...(durability === undefined ? [] : [`  a 200    ${durability.says}`]),
    `  token    ${token.where}`,
    ...(service.opsUrl === undefined ? [] : [`  console  ${reachableUrl(service.opsUrl)}`]),
    'Create a plant:',
    `  curl ${reachableUrl(plantsUrl)} -H "Authorization: Bearer ${token.inShell}" -H ` +
      `'Content-Type: application/json' -d '{"id":1,"name":"Alder","tag":"Alnus"}'`,
  ];
}

export type TokenToTry = Awaited<ReturnType<typeof tokenToTry>>;

/** The place of a valid token, and shell text for it. The token itself is never shown. */
export async function tokenToTry(
  { store }: Service,
  config: ServiceConfig,
  tokenFile: string | undefined,
) {
  const { fixedToken: fixed } = config;
  if (tokenFile !== undefined) return { where: `in ${tokenFile}`, inShell: catCommand(tokenFile) };
  if (fixed !== undefined) return { where: `in ${tokenVariable}`, inShell: `$${tokenVariable}` };
  const { firstTokenFile } = engineOf(config.store);
  const firstToken = readFirstToken(firstTokenFile);
  if (firstToken !== undefined && (await isTokenAdmitted(store, firstToken, Date.now()))) {
    return { where: `in ${firstTokenFile}`, inShell: catCommand(firstTokenFile) };
  }
  return {
    where: `make one with: ${engineOf(config.store).command('token create NAME').slice(1, -1)}`,
    inShell: 'TOKEN',
  };
}

function catCommand(file: string): string {
  return `$(cat ${shellQuoted(resolve(file))})`;
}

function reachableUrl(text: string): string {
  const url = new URL(text);
  url.hostname = reachable(url.hostname);
  return url.href;
}
