import { isErrno } from '../../disk/files.ts';
import type { ServiceConfig } from '../../service/config.ts';
import { DescriptorsError } from '../../service/descriptors.ts';
import { OperatorPortError } from '../../service/service.ts';
import { CommandError } from '../command.ts';

/**
 * What kept the service from starting, in words for the operator. @returns a CommandError, or
 * `error` if it is a defect
 */
export function startError(error: unknown, config: ServiceConfig): unknown {
  if (error instanceof DescriptorsError) return new CommandError(error.message, { cause: error });
  if (error instanceof OperatorPortError) return operatorPortError(error, config);
  return listenError(error, '', config.host, config.port);
}

function operatorPortError(error: Error, { opsHost, opsPort }: ServiceConfig): unknown {
  const orOff =
    opsPort === 'off' || !isErrno(error.cause, 'EADDRINUSE')
      ? ''
      : ' (it is for health, metrics and the console; off is possible, too)';
  const told = listenError(error.cause, 'ops-', opsHost, opsPort);
  return told instanceof CommandError
    ? new CommandError(told.message + orOff, { cause: error })
    : told;
}

/**
 * What listen(2) has against the address, if it is one of the usual things. `prefix` is that of the
 * flags that name it.
 */
function listenError(
  error: unknown,
  prefix: '' | 'ops-',
  host: string,
  port: number | 'off',
): unknown {
  const problem = (what: string) => new CommandError(what, { cause: error });
  if (isErrno(error, 'EADDRINUSE')) {
    return problem(
      `port ${port} on ${host} is taken by another program; choose another with --${prefix}port, or take over from a service there with --reuse-port`,
    );
  }
  if (isErrno(error, 'EACCES'))
    return problem(
      `port ${port} may not be used without privileges; choose one above 1023 with --${prefix}port`,
    );
  if (
    isErrno(error, 'EADDRNOTAVAIL') ||
    isErrno(error, 'ENOTFOUND') ||
    isErrno(error, 'EAI_AGAIN')
  ) {
    return problem(
      `${host} is not an address of this machine; choose another with --${prefix}host`,
    );
  }
  return error;
}
