/** Why an exchange got no response, in the words of D-20. `unsupported`: the request itself cannot be made. */
export type FailureCause =
  | 'dns_nxdomain'
  | 'dns_error'
  | 'conn_refused'
  | 'conn_error'
  | 'tls_error'
  | 'cert_expired'
  | 'timeout'
  | 'blocked_target'
  | 'unsupported';

/** A failed exchange; `reason` is a sentence for people that names no address and no secret. */
export type Failure = { cause: FailureCause; reason: string };

/** The stage that an exchange had reached. */
export type Step = 'lookup' | 'connect' | 'tls' | 'response' | 'body';

/** The failure of a target that the address guard refuses (D-30); it does not reveal the address. */
export const BLOCKED: Failure = {
  cause: 'blocked_target',
  reason: 'The target has no public address that may be contacted',
};

/** The failure of a request that HTTP cannot express. */
export const UNSENDABLE: Failure = {
  cause: 'unsupported',
  reason: 'The request cannot be sent: a header or the path has characters that HTTP does not allow',
};

/** The failure of a target that sends informational responses (1xx) endlessly. */
export const NEVER_FINAL: Failure = {
  cause: 'conn_error',
  reason: 'The response is not valid HTTP: informational responses without a final one',
};

const BODY_LOST: Failure = { cause: 'conn_error', reason: 'The connection was closed before the end of the body' };

/** The failures of a response whose body could not be read. */
export const BODY_FAILURES = {
  lost: BODY_LOST,
  undecodable: { cause: 'conn_error', reason: 'The body does not match its Content-Encoding' },
} satisfies Record<string, Failure>;

const TIMEOUTS = {
  lookup: 'during the DNS lookup',
  connect: 'while connecting',
  tls: 'during the TLS handshake',
  response: 'while waiting for the response',
  body: 'while reading the body',
} satisfies Record<Step, string>;

/** Error code of a lookup that found addresses, but none that may be contacted. */
export const BLOCKED_CODE = 'ERR_ADDRESS_BLOCKED';

const TLS_OUTDATED: Failure = { cause: 'tls_error', reason: 'The server supports neither TLS 1.2 nor TLS 1.3' };

const BY_CODE: Readonly<Record<string, Failure>> = {
  [BLOCKED_CODE]: BLOCKED,
  ENOTFOUND: { cause: 'dns_nxdomain', reason: 'The host name does not resolve' },
  ECONNREFUSED: { cause: 'conn_refused', reason: 'Connection refused' },
  EHOSTUNREACH: { cause: 'conn_error', reason: 'Host unreachable' },
  ENETUNREACH: { cause: 'conn_error', reason: 'Network unreachable' },
  ETIMEDOUT: { cause: 'timeout', reason: 'The connection timed out' },
  CERT_HAS_EXPIRED: { cause: 'cert_expired', reason: 'The certificate has expired' },
  CERT_NOT_YET_VALID: { cause: 'tls_error', reason: 'The certificate is not yet valid' },
  CERT_SIGNATURE_FAILURE: { cause: 'tls_error', reason: 'The certificate has an invalid signature' },
  CERT_REVOKED: { cause: 'tls_error', reason: 'The certificate has been revoked' },
  DEPTH_ZERO_SELF_SIGNED_CERT: { cause: 'tls_error', reason: 'The certificate is self-signed' },
  SELF_SIGNED_CERT_IN_CHAIN: {
    cause: 'tls_error',
    reason: 'The certificate chain ends in an authority that is not trusted',
  },
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: {
    cause: 'tls_error',
    reason: 'The certificate was issued by an authority that is not trusted',
  },
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: { cause: 'tls_error', reason: 'The certificate chain is incomplete or not trusted' },
  ERR_TLS_CERT_ALTNAME_INVALID: { cause: 'tls_error', reason: 'The certificate does not match the host name' },
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: {
    cause: 'tls_error',
    reason: 'The server requires a client certificate',
  },
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: TLS_OUTDATED,
  ERR_SSL_UNSUPPORTED_PROTOCOL: TLS_OUTDATED,
  ERR_SSL_WRONG_VERSION_NUMBER: { cause: 'tls_error', reason: 'The server does not respond with TLS on this port' },
  HPE_HEADER_OVERFLOW: { cause: 'conn_error', reason: 'The response headers are too long' },
};

const DNS_FAILED: Failure = { cause: 'dns_error', reason: 'The DNS lookup failed' };
const TLS_FAILED: Failure = { cause: 'tls_error', reason: 'The TLS handshake failed' };
/** In TLS 1.2 the same alert also reports a missing client certificate. */
const TLS_REFUSED: Failure = {
  cause: 'tls_error',
  reason:
    'The server refused the TLS handshake: no cipher in common, no certificate for this name, or a client ' +
    'certificate is required',
};
const INVALID_RESPONSE: Failure = { cause: 'conn_error', reason: 'The response is not valid HTTP' };

const LOST: Record<Step, Failure> = {
  lookup: DNS_FAILED,
  connect: { cause: 'conn_error', reason: 'The connection failed' },
  tls: { cause: 'tls_error', reason: 'The connection was closed during the TLS handshake' },
  response: { cause: 'conn_error', reason: 'The connection was closed without a response' },
  body: BODY_LOST,
};

/**
 * Error for a name that was not looked up because too many lookups were running, which proves nothing about the name.
 */
export class LookupsBusy extends Error {
  readonly code = LOOKUPS_BUSY;

  constructor() {
    super('Too many DNS lookups were under way on the checking machine');
  }
}

const LOOKUPS_BUSY = 'ERR_LOOKUPS_BUSY';
const LOCAL_CODES = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EADDRNOTAVAIL', LOOKUPS_BUSY]);

const UNSENDABLE_CODES = new Set(['ERR_INVALID_CHAR', 'ERR_INVALID_HTTP_TOKEN', 'ERR_UNESCAPED_CHARACTERS']);

/** Returns the failure of an exchange whose deadline passed at a step. */
export function timeoutFailure(step: Step): Failure {
  return { cause: 'timeout', reason: `Timed out ${TIMEOUTS[step]}` };
}

/**
 * Returns the failure that an error of a socket or parser means at a step. Null if this machine is at fault
 * (descriptors, ports, memory, lookups), which proves nothing about the target.
 */
export function failureOf(error: Error, step: Step): Failure | null {
  const code = codeOf(error);
  if (LOCAL_CODES.has(code)) return null;
  const known = BY_CODE[code];
  if (known !== undefined) return known;
  if (code.startsWith('HPE_')) return INVALID_RESPONSE;
  if (code.endsWith('_ALERT_HANDSHAKE_FAILURE')) return TLS_REFUSED;
  if (code.startsWith('ERR_SSL_') || code === 'EPROTO' || (step === 'tls' && code !== 'ECONNRESET')) return TLS_FAILED;
  return LOST[step];
}

/** Reports whether Node refused with this error to write a request, as opposed to a bug in this code. */
export function isUnsendable(error: unknown): boolean {
  return error instanceof Error && UNSENDABLE_CODES.has(codeOf(error));
}

/**
 * Returns the code of an error. Attempts at several addresses fail together; a refusal is more informative than an
 * unreachable network.
 */
function codeOf(error: Error): string {
  const errors: readonly Error[] = error instanceof AggregateError ? error.errors : [error];
  const codes = errors.map((one) => (one as NodeJS.ErrnoException).code ?? '');
  return codes.find((code) => code === 'ECONNREFUSED') ?? codes[0] ?? '';
}
