import { limits } from '../../limits.ts';
import { sizeText } from '../../quantity-text.ts';
import type { PostgresLocation } from '../../store/location.ts';
import type { DatabaseCondition } from '../../stores.ts';
import { type Finding, ok, warning } from './check.ts';

export function connection({
  server: { host, port, connectMs, roundTripMs },
}: DatabaseCondition): Finding {
  return ok(
    `to ${host}:${port} in ${connectMs.toFixed(1)} ms; a round trip takes ${roundTripMs.toFixed(2)} ms`,
  );
}

interface Reached extends DatabaseCondition {
  readonly location: PostgresLocation;
}

const isOfThisMachine = /^(\/.*|localhost|127\..*|::1)$/;

export function encryption({ location: { tls }, server: { host, isEncrypted } }: Reached): Finding {
  const isEncryptedAnyway = /^(require|verify-)/.test(tls.sslmode);
  const mode = `sslmode=${tls.sslmode}`;
  if (isOfThisMachine.test(host))
    return ok(`${isEncrypted ? 'TLS' : 'none'}; the server is on this machine`);
  if (!isEncrypted && !isEncryptedAnyway) {
    return warning(
      `none is known: plants and hashes of tokens cross the network unencrypted (${mode})`,
      remedy,
    );
  }
  const isVerified =
    tls.sslmode.startsWith('verify-') ||
    (tls.sslmode === 'require' && tls.sslrootcert !== undefined);
  return isVerified
    ? ok(`TLS, and the server has been verified (${mode})`)
    : warning(`TLS, but the server is not verified (${mode})`, remedy);
}

const remedy =
  'add sslmode=verify-full to the URL, and sslrootcert=FILE with the trusted authority';

/** Not for a server without standbys that asks for none. */
export function standbys({
  server: { standbysDemanded, standbys: found },
}: DatabaseCondition): Finding | undefined {
  if (found.length === 0 && standbysDemanded === '') return undefined;
  if (found.length === 0) {
    return warning(
      `no standby is connected, and commits wait for synchronous_standby_names='${standbysDemanded}'`,
      'start the standbys: until then creates get 503',
    );
  }
  const figure = found
    .map(({ name, kind = 'connected', lagBytes }) => `${name} (${kind}${lagText(lagBytes)})`)
    .join(', ');
  const isBehind = found.some(({ lagBytes = 0 }) => lagBytes > limits.postgres.standbyLagBytesHigh);
  return isBehind
    ? warning(
        figure,
        'a standby is far behind: a failover to it takes long, or loses plants if it is async',
      )
    : ok(figure);
}

/** A database shows more than the names only to superusers and members of pg_monitor. */
function lagText(bytes: number | undefined): string {
  return bytes === undefined ? '' : `, ${sizeText(bytes)} behind`;
}
