import { limits } from '../../limits.ts';
import { sizeText } from '../../size-text.ts';
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
  const isEncryptedAnyway = /^(require|verify-)/.test(tls.mode);
  const mode = `sslmode=${tls.mode}`;
  if (isOfThisMachine.test(host))
    return ok(`${isEncrypted ? 'TLS' : 'none'}, and the server is on this machine`);
  if (!isEncrypted && !isEncryptedAnyway) {
    return warning(
      `none that is known of: plants and hashes of tokens cross the network as they are (${mode})`,
      remedy,
    );
  }
  const isVerified =
    tls.mode.startsWith('verify-') || (tls.mode === 'require' && tls.rootFile !== undefined);
  return isVerified
    ? ok(`TLS, and the server has been verified (${mode})`)
    : warning(`TLS, but to whoever answers (${mode})`, remedy);
}

const remedy = 'add sslmode=verify-full to the URL, and sslrootcert=FILE with whom to trust';

/** There is nothing to tell where nobody asks for standbys and none is seen. */
export function standbys({
  server: { standbysDemanded, standbys: found },
}: DatabaseCondition): Finding | undefined {
  if (found.length === 0 && standbysDemanded === '') return undefined;
  if (found.length === 0) {
    return warning(
      `none is connected, and commits wait for synchronous_standby_names='${standbysDemanded}'`,
      'start them: until then creates get 503',
    );
  }
  const figure = found
    .map(({ name, kind = 'connected', lagBytes }) => `${name} (${kind}${lagText(lagBytes)})`)
    .join(', ');
  const isBehind = found.some(({ lagBytes = 0 }) => lagBytes > limits.postgres.standbyLagBytesHigh);
  return isBehind
    ? warning(
        figure,
        'one is far behind: a failover to it would take long, or lose plants if it is async',
      )
    : ok(figure);
}

/**
 * To other roles than superusers and members of pg_monitor, a database tells no more than the
 * names.
 */
function lagText(bytes: number | undefined): string {
  return bytes === undefined ? '' : `, ${sizeText(bytes)} behind`;
}
