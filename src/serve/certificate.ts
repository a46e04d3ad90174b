import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import { CommandError } from '../cli/command.ts';
import type { TlsFiles } from '../cli/flags/groups.ts';
import { readSmallFileLater } from '../disk/files.ts';
import { type TlsMaterial, tlsOptions } from '../http/tls.ts';
import { limits } from '../limits.ts';
import type { Log } from '../telemetry/log.ts';

/** @throws CommandError */
export async function readCertificate(files: TlsFiles, nowMs: number) {
  return certificateIn(await readMaterial(files), files, nowMs);
}

async function readMaterial(files: TlsFiles) {
  const read = (path: string) =>
    readSmallFileLater(path, limits.tls.fileBytesMax).catch((error) => {
      throw failed(`cannot read ${path}`, error);
    });
  const [certificate, key] = [await read(files.certificate), await read(files.key)];
  // A group may share keys, such as ssl-cert of Debian.
  const warning = key.isOpenToAll
    ? `all users of the machine can read or change the key in ${files.key}; type chmod o= ${files.key}`
    : undefined;
  return { material: { certificate: certificate.text, key: key.text }, warning };
}

/** A certificate that fits its key, and is valid now. */
function certificateIn(
  { material, warning }: Awaited<ReturnType<typeof readMaterial>>,
  files: TlsFiles,
  nowMs: number,
) {
  const chain = attempt(`${files.certificate} must hold a certificate in PEM`, () =>
    (material.certificate.match(pemCertificate) ?? ['']).map((pem) => new X509Certificate(pem)),
  ) as [X509Certificate, ...X509Certificate[]];
  const [certificate] = chain;
  const key = attempt(`${files.key} must hold a private key in PEM without a password`, () =>
    createPrivateKey(material.key),
  );
  if (!certificate.checkPrivateKey(key))
    throw new CommandError(
      chain.some((other) => other.checkPrivateKey(key))
        ? `the first certificate in ${files.certificate} does not belong to the key; put the ` +
            'certificate of the key first, and then the certificates of its issuers'
        : `the key in ${files.key} is not the key of ${files.certificate}`,
    );
  const { validFromDate, validToDate } = certificate;
  if (validToDate.getTime() <= nowMs)
    throw new CommandError(`${files.certificate} has expired at ${validToDate.toISOString()}`);
  if (validFromDate.getTime() > nowMs)
    throw new CommandError(
      `${files.certificate} is not valid before ${validFromDate.toISOString()}`,
    );
  attempt(`${files.certificate} must hold a certificate that TLS takes`, () =>
    createSecureContext(tlsOptions(material)),
  );
  const names = certificate.subjectAltName ?? certificate.subject;
  return { material, warning, names, expiresAtMs: validToDate.getTime(), chain };
}

const pemCertificate = /-----BEGIN ([A-Z0-9 ]*CERTIFICATE)-----.*?-----END \1-----/gs;

/** @param failure begins the message if it fails @throws CommandError */
function attempt<T>(failure: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw failed(failure, error as Error);
  }
}

function failed(failure: string, cause: Error): CommandError {
  return new CommandError(`${failure} (${cause.message})`, { cause });
}

export type CertificateWatch = Awaited<ReturnType<typeof watchCertificate>>;

/**
 * The certificate of a listener. Reads the files every `limits.tls.readAgainMs`, one reading at a
 * time, and takes up a new certificate. Files that do not fit leave the old one in force, and are
 * logged when two readings find the failure: files are not replaced at one moment. A key that all
 * users can read is logged once for each change.
 */
export async function watchCertificate(files: TlsFiles, log: Log) {
  let current = await readCertificate(files, Date.now());
  let warning: string | undefined;
  let failure: { readonly message: string; readonly isLogged: boolean } | undefined;
  const listeners: ((material: TlsMaterial) => void)[] = [];
  let isReading = false;
  let isAsked = false;

  function warn(isSame: boolean, found: string | undefined): void {
    if (found !== undefined && !(isSame && warning === found)) log.warn({}, found);
    warning = found;
  }
  warn(false, current.warning);

  function note(read: Awaited<ReturnType<typeof readMaterial>>): void {
    const isSame = isDeepStrictEqual(read.material, current.material);
    // The same files are looked into again only to tell that the certificate has expired.
    if (!isSame || current.expiresAtMs <= Date.now())
      current = certificateIn(read, files, Date.now());
    failure = undefined;
    warn(isSame, read.warning);
    if (isSame) return;
    for (const renew of listeners) renew(read.material);
    const expires = new Date(current.expiresAtMs).toISOString();
    log.info({ certificate: files.certificate, expires }, 'a new certificate is in force');
  }

  function noteFailure(message: string, wasAsked = false): void {
    const last = failure?.message === message ? failure : undefined;
    const isDue = wasAsked || last?.isLogged === false;
    if (isDue) log.error({}, `the certificate stays as it is: ${message}`);
    failure = { message, isLogged: isDue || last?.isLogged === true };
  }

  async function read(): Promise<void> {
    isReading = true;
    do {
      const wasAsked = isAsked;
      isAsked = false;
      await readMaterial(files)
        .then(note)
        .catch(({ message }: CommandError) => noteFailure(message, wasAsked));
    } while (isAsked);
    isReading = false;
  }

  const timer = setInterval(() => {
    if (isReading) noteFailure(`the disk of ${files.certificate}, or of its key, does not answer`);
    else void read();
  }, limits.tls.readAgainMs);
  return {
    current: () => current,
    /** Gets the certificate in force at once, because it may be a newer one, and each later one. */
    onRenewed(listener: (material: TlsMaterial) => void): void {
      listeners.push(listener);
      listener(current.material);
    },
    /** Reads the files now, and logs a failure at once. */
    readNow() {
      isAsked = true;
      if (!isReading) void read();
    },
    [Symbol.dispose]: () => clearInterval(timer),
  };
}
