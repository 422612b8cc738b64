import type { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { Failure } from './failure.ts';

/**
 * A server's certificate. Names are common names, or the whole distinguished name where there is none; times are Unix
 * seconds.
 */
export type Certificate = { subject: string; issuer: string; validFrom: number; validTo: number };

/** By the clock of the machine: the certificate itself is valid by the service's time. */
const CHAIN_EXPIRED = 'A certificate of the chain has expired';

const NAME_MISMATCH = 'ERR_TLS_CERT_ALTNAME_INVALID';
const SECONDS_PER_DAY = 86_400;

/** The certificate that the peer of a TLS connection showed; null before the handshake, and where it is unreadable. */
export function readCertificate(socket: TLSSocket): Certificate | null {
  const certificate = socket.getPeerX509Certificate();
  return certificate === undefined ? null : describe(certificate);
}

/** What Node verifies certificates by; it has no public name. */
type Verifying = TLSSocket & { ssl?: { verifyError?: () => Error | null } };

/**
 * Keeps the certificate with which a handshake that is still to come fails; null if it does not. Node closes the
 * connection before it reports such a failure.
 */
export function watchRefusedCertificate(socket: TLSSocket): () => Certificate | null {
  let refused: X509Certificate | undefined;
  // Before Node's own listener. Of a good certificate nothing is read: Node could not compare the names any more.
  socket.prependOnceListener('secure', () => {
    if ((socket as Verifying).ssl?.verifyError?.()) refused = socket.getPeerX509Certificate();
  });
  return () => (refused === undefined ? null : describe(refused));
}

/**
 * True when a connection was given up because of its certificate alone. A name that does not match is no such case:
 * everything else had been found in order.
 */
export function isVerificationError(socket: Socket | null): boolean {
  return (
    socket instanceof TLSSocket &&
    Boolean(socket.authorizationError) &&
    String(socket.authorizationError) !== NAME_MISMATCH
  );
}

/**
 * Makes a failed verification more exact by the certificate that caused it: an expired one is distinguished from other
 * faults, with its date. Null: nothing more is known.
 */
export function explainVerification(failure: Failure, certificate: Certificate | null): Failure {
  if (certificate === null) return failure;
  const days = Math.floor((Date.now() / 1000 - certificate.validTo) / SECONDS_PER_DAY);
  if (days >= 0) return { cause: 'cert_expired', reason: `The certificate expired ${formatDaysAgo(days)}` };
  return failure.cause === 'cert_expired' ? { cause: 'cert_expired', reason: CHAIN_EXPIRED } : failure;
}

/** Made when it is needed: the first of its kind takes 25 ms, at the start of every process that loads this. */
function formatDaysAgo(days: number): string {
  return new Intl.RelativeTimeFormat('en', { numeric: 'auto' }).format(-days, 'day');
}

/** Null where its dates cannot be read. */
function describe(certificate: X509Certificate): Certificate | null {
  const validFrom = unixSeconds(certificate.validFromDate);
  const validTo = unixSeconds(certificate.validToDate);
  if (Number.isNaN(validFrom) || Number.isNaN(validTo)) return null;
  return { subject: commonName(certificate.subject), issuer: commonName(certificate.issuer), validFrom, validTo };
}

// A certificate may have an empty subject (its names are in the extension then): node gives undefined for it.
function commonName(distinguishedName: string | undefined): string {
  const name = distinguishedName ?? '';
  return /^CN=(.*)$/m.exec(name)?.[1] ?? name.replaceAll('\n', ', ');
}

function unixSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000);
}
