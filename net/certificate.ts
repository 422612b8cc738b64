import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Failure } from './failure.ts';

/**
 * A server's certificate. Names are common names, or the whole distinguished name if there is none; times are Unix
 * seconds.
 */
export type Certificate = { subject: string; issuer: string; validFrom: number; validTo: number };

/** Expired by the clock of the machine: the certificate itself is valid by the service's time. */
const CHAIN_EXPIRED = 'A certificate of the chain has expired';

const NAME_MISMATCH = 'ERR_TLS_CERT_ALTNAME_INVALID';
const SECONDS_PER_DAY = 86_400;

/** Returns the certificate of a TLS connection's peer; null before the handshake, and if it is unreadable. */
export function readCertificate(socket: TLSSocket): Certificate | null {
  const certificate = socket.getPeerX509Certificate();
  return certificate === undefined ? null : describe(certificate);
}

/** A socket with Node's verification result, which has no public API. */
type Verifying = TLSSocket & { ssl?: { verifyError?: () => Error | null } };

/**
 * Captures the certificate with which a coming handshake fails; the result is null if it does not. Node closes the
 * connection before it reports such a failure.
 */
export function watchRefusedCertificate(socket: TLSSocket): () => Certificate | null {
  let refused: X509Certificate | undefined;
  // This runs before Node's own listener. A good certificate is not read: Node could no longer compare the names.
  socket.prependOnceListener('secure', () => {
    if ((socket as Verifying).ssl?.verifyError?.()) refused = socket.getPeerX509Certificate();
  });
  return () => (refused === undefined ? null : describe(refused));
}

/**
 * Reports whether a connection was closed only because its certificate could not be verified. A name mismatch does not
 * count: everything else had been verified.
 */
export function isVerificationError(socket: Socket | null): boolean {
  return (
    socket instanceof TLSSocket &&
    Boolean(socket.authorizationError) &&
    String(socket.authorizationError) !== NAME_MISMATCH
  );
}

/**
 * Refines a failed verification by the certificate that caused it: an expired one is distinguished from other faults,
 * with its date. A null `certificate` changes nothing.
 */
export function explainVerification(failure: Failure, certificate: Certificate | null): Failure {
  if (certificate === null) return failure;
  const days = Math.floor((Date.now() / 1000 - certificate.validTo) / SECONDS_PER_DAY);
  if (days >= 0) return { cause: 'cert_expired', reason: `The certificate expired ${formatDaysAgo(days)}` };
  return failure.cause === 'cert_expired' ? { cause: 'cert_expired', reason: CHAIN_EXPIRED } : failure;
}

/**
 * Creates the formatter on demand: the first one takes 25 ms, and every process that loads this file would pay that at
 * startup.
 */
function formatDaysAgo(days: number): string {
  return new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(-days, 'day');
}

/** Describes a certificate; null if its dates cannot be read. */
function describe(certificate: X509Certificate): Certificate | null {
  const validFrom = unixSeconds(certificate.validFromDate);
  const validTo = unixSeconds(certificate.validToDate);
  if (Number.isNaN(validFrom) || Number.isNaN(validTo)) return null;
  return { subject: commonName(certificate.subject), issuer: commonName(certificate.issuer), validFrom, validTo };
}

// A certificate may have an empty subject (its names are in the extension then), for which Node returns undefined.
function commonName(distinguishedName: string | undefined): string {
  const name = distinguishedName ?? '';
  return /^CN=(.*)$/m.exec(name)?.[1] ?? name.replaceAll('\n', ', ');
}

function unixSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
