import type { Setting } from '../cli/flags/command-line.ts';
import type { TlsFiles } from '../cli/flags/groups.ts';
import type { StoreLocation } from '../store/location.ts';
import type { JwtRules } from '../tokens/jwt/rules.ts';

/** The files of a certificate do not fit. The message names the file. */
export class CertificateError extends Error {
  override readonly name = 'CertificateError';
}

export interface OperatorConfig {
  readonly opsHost: string;
  readonly opsPort: number | 'off';
  readonly opsTls: TlsFiles | undefined;
  /** Host names in requests, besides `localhost` and addresses. */
  readonly opsNames: readonly string[];
  /** Another service of the same user may have the port, too. */
  readonly reusePort: boolean;
  readonly store: StoreLocation;
  readonly queuePlantsMax: number;
  /** The configuration that the console shows. */
  readonly settings: readonly Setting[];
}

/** The settings of `serve`. Times in milliseconds. */
export interface ServiceConfig extends OperatorConfig {
  readonly host: string;
  readonly port: number;
  readonly tls: TlsFiles | undefined;
  readonly httpThreads: number | 'auto';
  /** Undefined: no tokens of identity providers. */
  readonly jwt: JwtRules | undefined;
  readonly basePath: string;
  /** Of web pages that may call the service. Undefined: none. */
  readonly corsOrigins: readonly string[] | undefined;
  readonly fixedToken: string | undefined;
  readonly bodyBytesMax: number;
  readonly commitMs: number;
  /** Of a collector, with its path. Undefined: no traces are exported. */
  readonly tracesUrl: string | undefined;
  /** Connections to a database, of all threads. */
  readonly databaseConnections: number | 'auto';
  /** Accepts a database that may lose committed plants. */
  readonly acceptsLostCommits: boolean;
  /** Standbys that a database must wait for before a create gets 200. */
  readonly standbysMin: number;
}
