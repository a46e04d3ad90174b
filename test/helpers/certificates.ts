import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { skipsAreForbidden } from './skips.ts';

/** Why no certificates can be made here; where all tests must run, it fails instead. */
export function withoutOpenssl(): string | false {
  // Before 3.0, `req` made only certificates that vouch for themselves.
  if (/^OpenSSL [3-9]/.test(spawnSync('openssl', ['version'], { encoding: 'utf8' }).stdout ?? ''))
    return false;
  const missing = 'needs OpenSSL 3 as openssl';
  assert(!skipsAreForbidden, missing);
  return missing;
}

/** Issues certificates. */
export interface Authority {
  /** The file with its own certificate. */
  readonly root: string;
  /** For a user or a host of that name, with more arguments of `openssl req`. */
  issue(name: string, more?: readonly string[]): Certificate;
}

/** The files with a certificate and its key. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** Each file in the folder begins with the name of the authority. */
export function makeAuthority(folder: string, authority: string): Authority {
  const { certificate, key } = make(folder, authority, ['-subj', `/CN=${authority}`]);
  const byAuthority = ['-CA', certificate, '-CAkey', key, '-addext', 'basicConstraints=CA:FALSE'];
  return {
    root: certificate,
    issue: (name, more = []) =>
      make(folder, `${authority}-${name}`, ['-subj', `/CN=${name}`, ...byAuthority, ...more]),
  };
}

function make(folder: string, name: string, more: readonly string[]): Certificate {
  const [certificate, key] = [join(folder, `${name}.crt`), join(folder, `${name}.key`)];
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const files = ['-keyout', key, '-out', certificate];
  const args = ['req', '-x509', '-days', '2', ...newKey, ...files, ...more];
  execFileSync('openssl', args, { stdio: ['ignore', 'ignore', 'pipe'] });
  chmodSync(key, 0o600);
  return { certificate, key };
}
