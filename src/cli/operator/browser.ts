import { spawn } from 'node:child_process';
import type { Environment } from '../../config/environment.ts';
import { limits } from '../../limits.ts';

type CommandLine = readonly [file: string, ...args: string[]];

/** The command that opens a page for the person at this machine; undefined without a desktop. */
export function browserCommand(
  platform: NodeJS.Platform,
  env: Environment,
): CommandLine | undefined {
  if (env['SSH_CONNECTION']) return undefined;
  if (platform === 'darwin') return ['open'];
  // The first argument of `start` in quotes is the title of a window.
  if (platform === 'win32') return ['cmd.exe', '/d', '/c', 'start', '""'];
  return env['DISPLAY'] || env['WAYLAND_DISPLAY'] ? ['xdg-open'] : undefined;
}

/** @returns whether the command has succeeded, or still runs after `limits.cli.browserMs` */
export function openBrowser([file, ...args]: CommandLine, url: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const browser = spawn(file, [...args, url], { detached: true, stdio: 'ignore' });
  browser.on('error', () => resolve(false)).on('exit', (code) => resolve(code === 0));
  const running = setTimeout(() => resolve(true), limits.cli.browserMs);
  browser.unref();
  return promise.finally(() => clearTimeout(running));
}
