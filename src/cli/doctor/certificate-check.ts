import { X509Certificate } from 'node:crypto';
import { statSync } from 'node:fs';
import { getCACertificates, rootCertificates } from 'node:tls';
import { limits } from '../../limits.ts';
import { CertificateError, type TlsFiles } from '../../service/config.ts';
import { tlsFiles } from '../flag-groups.ts';
import { error, type Finding, type NamedFinding, named, ok, warning } from './check.ts';

const dayMs = 86_400_000;

export async function certificateFindings(
  values: Parameters<typeof tlsFiles>[0],
): Promise<NamedFinding[]> {
  const found: Record<string, Finding> = {};
  for (const prefix of ['', 'ops-'] as const) {
    const files = tlsFiles(values, prefix);
    if (files) found[`${prefix}certificate`] = await certificateFinding(files, Date.now());
  }
  return named(found);
}

async function certificateFinding(files: TlsFiles, nowMs: number): Promise<Finding> {
  const { readCertificate } = await import('../../service/certificate.ts');
  try {
    const { names, expiresAtMs, chain } = readCertificate(files, nowMs);
    const until = new Date(expiresAtMs).toISOString();
    const found = `${files.certificate} is for ${names}, and expires at ${until}`;
    const missing = missingIssuer(chain);
    if (missing !== undefined)
      return warning(
        `${files.certificate} lacks the certificate of its issuer, ${missing}`,
        'append it, or name a file that has both (fullchain.pem of certbot), unless each client ' +
          'trusts this issuer itself',
      );
    if (expiresAtMs - nowMs < limits.tls.expiryWarningDays * dayMs)
      return warning(found, 'renew the certificate; the service takes up a new file by itself');
    if ((statSync(files.key).mode & 0o004) !== 0)
      return warning(
        `all users of the machine can read the key in ${files.key}`,
        `run chmod 600 ${files.key}`,
      );
    return ok(found);
  } catch (cause) {
    if (cause instanceof CertificateError)
      return error(cause.message, 'the service does not start with these files');
    throw cause;
  }
}

/** The issuer, if it is neither in the file nor an authority that this machine trusts. */
function missingIssuer([certificate, ...others]: readonly X509Certificate[]): string | undefined {
  const isIssuer = (other: X509Certificate) => certificate?.checkIssued(other);
  if (certificate === undefined || [certificate, ...others].some(isIssuer)) return undefined;
  const trusted = [...rootCertificates, ...getCACertificates('system')];
  if (trusted.some((authority) => isIssuer(new X509Certificate(authority)))) return undefined;
  return certificate.issuer.replaceAll('\n', ', ');
}
