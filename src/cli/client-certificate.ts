import { X509Certificate } from 'node:crypto';
import type { Values } from '../config/flags.ts';
import { UsageError } from '../config/values.ts';
import { readCertificate } from '../service/certificate.ts';
import { CertificateError, type TlsFiles } from '../service/config.ts';
import { CommandError } from './command.ts';

/** The flags of `clientFiles`. */
export const clientFlags = ['client-certificate', 'client-key'] as const;

/** Paths of PEM files. */
export type ClientFiles = Pick<TlsFiles, 'certificate' | 'key'>;

/** @throws UsageError if one of the two files is missing */
export function clientFiles(values: Values<(typeof clientFlags)[number]>): ClientFiles | undefined {
  const { 'client-certificate': certificate, 'client-key': key } = values;
  if (certificate !== undefined && key !== undefined) return { certificate, key };
  if (certificate === undefined && key === undefined) return undefined;
  throw new UsageError('--client-certificate and --client-key must be given together');
}

/** What `node:tls` takes to present a certificate. */
export interface ClientCredentials {
  readonly cert: string;
  readonly key: string;
}

/** @throws CommandError if a file cannot be read or does not fit */
export function readClientCertificate({ certificate, key }: ClientFiles): ClientCredentials {
  try {
    const { material } = readCertificate({ certificate, key, clientCa: undefined }, Date.now());
    return { cert: material.certificate, key: material.key };
  } catch (error) {
    if (!(error instanceof CertificateError)) throw error;
    throw new CommandError(
      `${error.message}; name a certificate that is valid with --client-certificate, and its key with --client-key`,
      { cause: error },
    );
  }
}

const nameFiles =
  'name its file with --client-certificate, and the file of its key with --client-key';

/**
 * What an error of a TLS connection says about the certificate of the client: the rest of a sentence
 * that starts with the service. Undefined if it says nothing.
 *
 * A service of this program closes the connection on which a certificate does not fit its
 * authorities. Other servers send an alert.
 *
 * @param presented the certificate of the client in PEM
 * @param authorities the flag of the service that names its authorities
 */
export function certificateFault(
  { code, message }: NodeJS.ErrnoException,
  presented: string | undefined,
  authorities: string,
): string | undefined {
  if (code === 'ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED')
    return `demands a client certificate; ${nameFiles}`;
  const closed = `has closed the connection (${message.trim()}), perhaps because it`;
  // The global `fetch` does not tell the alert.
  if (presented === undefined)
    return code === 'UND_ERR_SOCKET'
      ? `${closed} demands a client certificate; ${nameFiles}`
      : undefined;
  if (code !== 'ECONNRESET' && !/^ERR_SSL_.*_ALERT_/.test(code ?? '')) return undefined;
  const issuer = new X509Certificate(presented).issuer.replaceAll('\n', ', ');
  return `${closed} does not accept the client certificate, which ${issuer} has issued; name a certificate of an authority in ${authorities} of the service`;
}
