import { CommandError } from '../cli/command.ts';
import type { Environment } from '../cli/flags/environment.ts';
import { CertificateError, type ServiceConfig } from './config.ts';
import { DescriptorsError } from './descriptors.ts';
import { OperatorPortError } from './service.ts';

/** Explains a failed start. @returns a CommandError, or `error` itself if it is a defect */
export function startError(error: unknown, config: ServiceConfig, env: Environment): unknown {
  if (error instanceof DescriptorsError || error instanceof CertificateError)
    return new CommandError(error.message, { cause: error });
  return error instanceof OperatorPortError
    ? listenError(error.cause, 'ops-', config.opsHost, config.opsPort, env)
    : listenError(error, '', config.host, config.port, env);
}

/** Explains the usual errors of listen(2). @param prefix of the flags for the address */
function listenError(
  error: unknown,
  prefix: '' | 'ops-',
  host: string,
  port: number | 'off',
  env: Environment,
): unknown {
  // npm keeps the flags that are not behind `--` for itself.
  const npmForm = `, as in "npm start -- --${prefix}port 9000"`;
  const withPort = `with --${prefix}port${env['npm_lifecycle_event'] === 'start' ? npmForm : ''}`;
  const elsewhere = `${host} is not an address of this machine; choose another address with --${prefix}host`;
  const causes: Readonly<Record<string, string>> = {
    EADDRINUSE:
      `port ${port} on ${host} is taken by another program; choose another port ${withPort}, ` +
      'or replace a running service with --reuse-port',
    EACCES:
      `port ${port} needs privileges; choose a port above 1023 ${withPort}, or grant ` +
      'CAP_NET_BIND_SERVICE',
    EADDRNOTAVAIL: elsewhere,
    EAFNOSUPPORT: elsewhere,
    EINVAL: `${host} needs its network interface, such as --${prefix}host ${host}%eth0`,
    ENOTFOUND: elsewhere,
    EAI_AGAIN: elsewhere,
  };
  const cause = causes[(error as NodeJS.ErrnoException).code ?? ''];
  return cause === undefined ? error : new CommandError(cause, { cause: error });
}
