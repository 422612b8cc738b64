import { X509Certificate } from 'node:crypto';
import { isIP } from 'node:net';
import tls, {
  type ConnectionOptions,
  type DetailedPeerCertificate,
  type SecureContext,
  type SecureVersion,
  type TLSSocket,
} from 'node:tls';
import { createClientContext } from '../../net/destination.ts';
import type { Fields } from './fields.ts';
import type { Gauges } from './run.ts';

/** The `tls_config` of a module. */
export type TlsSettings = {
  context: SecureContext;
  /** Null for the host of the target. */
  serverName: string | null;
  isVerified: boolean;
};

/**
 * Returns the text of the file that a key names; null if the key is absent or, with a problem reported, the file
 * unreadable.
 */
export type ReadFile = (fields: Fields, name: string) => string | null;

const VERSIONS = ['TLS10', 'TLS11', 'TLS12', 'TLS13'] as const;
const NODE_VERSIONS: Readonly<Record<string, SecureVersion>> = {
  TLS10: 'TLSv1',
  TLS11: 'TLSv1.1',
  TLS12: 'TLSv1.2',
  TLS13: 'TLSv1.3',
};

const GO_VERSIONS: Readonly<Record<string, string>> = {
  TLSv1: 'TLS 1.0',
  'TLSv1.1': 'TLS 1.1',
  'TLSv1.2': 'TLS 1.2',
  'TLSv1.3': 'TLS 1.3',
};

/** Reads a `tls_config`. Certificates and keys are read now; an invalid certificate is a problem of the file. */
export function readTlsSettings(fields: Fields, readFile: ReadFile): TlsSettings {
  fields.refuse('ca_ref', 'cert_ref', 'key_ref');
  const ca = fields.text('ca') ?? readFile(fields, 'ca_file');
  const cert = fields.text('cert') ?? readFile(fields, 'cert_file');
  const key = fields.text('key') ?? readFile(fields, 'key_file');
  const [least, most] = [fields.choice('min_version', VERSIONS), fields.choice('max_version', VERSIONS)];
  const settings = {
    serverName: fields.text('server_name') || null,
    isVerified: !fields.flag('insecure_skip_verify', false),
  };
  fields.end();
  try {
    // This throws for an authority that is not a certificate, which would otherwise be ignored silently.
    const authority = ca === null ? null : new X509Certificate(ca);
    const context = createClientContext({
      ...(authority !== null && ca !== null && { ca }),
      ...(cert !== null && { cert }),
      ...(key !== null && { key }),
      ...(least !== null && { minVersion: NODE_VERSIONS[least] }),
      ...(most !== null && { maxVersion: NODE_VERSIONS[most] }),
    });
    return { ...settings, context };
  } catch {
    fields.problem(null, 'must have certificates and a key in PEM form that belong together, and versions in order');
    return { ...settings, context: createClientContext() };
  }
}

/** TLS options of a connection, as `tls.connect` takes them. */
export type Secured = Pick<
  ConnectionOptions,
  'secureContext' | 'rejectUnauthorized' | 'servername' | 'checkServerIdentity'
>;

/**
 * Returns the TLS options of a connection. The certificate is checked against `serverName` as Go does: by its
 * alternative names.
 */
export function securedBy({ context, isVerified }: TlsSettings, serverName: string): Secured {
  return {
    secureContext: context,
    rejectUnauthorized: isVerified,
    // An address is not a server name (RFC 6066).
    ...(isIP(serverName) === 0 && { servername: serverName }),
    checkServerIdentity: (_host, certificate) =>
      certificate.subjectaltname === undefined
        ? new Error('The certificate has no alternative names')
        : tls.checkServerIdentity(serverName, certificate),
  };
}

/** Go's zero time in Unix seconds, which blackbox_exporter reports for a chain that it did not verify. */
const NO_MOMENT = -62_135_596_800;

/** TLS data that blackbox_exporter reports; times in Unix seconds. */
export type TlsFacts = {
  earliestExpiry: number;
  verifiedExpiry: number;
  version: string;
  leaf: Readonly<Record<string, string>>;
};

/** Reads the TLS data; null before the handshake and after the connection was closed. */
export function readTlsFacts(socket: TLSSocket, { rejectUnauthorized }: Secured): TlsFacts | null {
  // The order matters, and each may be called once: in Node 24 later calls return nothing.
  const chain = socket.getPeerCertificate(true);
  const leaf = socket.getPeerX509Certificate();
  if (leaf === undefined) return null;
  // A connection may be authorized even if `insecure_skip_verify` disabled verification.
  const isVerified = socket.authorized && rejectUnauthorized === true;
  return {
    earliestExpiry: earliestOf(sentExpiries(leaf)),
    verifiedExpiry: isVerified ? earliestOf(chainExpiries(chain)) : NO_MOMENT,
    version: GO_VERSIONS[socket.getProtocol() ?? ''] ?? 'unknown',
    leaf: {
      fingerprint_sha256: leaf.fingerprint256.replaceAll(':', '').toLowerCase(),
      issuer: nameOf(leaf.issuer),
      serialnumber: leaf.serialNumber.toLowerCase(),
      subject: nameOf(leaf.subject),
      subjectalternative: alternativesOf(leaf),
    },
  };
}

/** Sets the gauges of a TLS connection. */
export function setTlsGauges(gauges: Gauges, facts: TlsFacts | null): void {
  if (facts === null) return;
  gauges.set('probe_ssl_earliest_cert_expiry', facts.earliestExpiry);
  gauges.set('probe_ssl_last_chain_expiry_timestamp_seconds', facts.verifiedExpiry);
  gauges.set('probe_ssl_last_chain_info', 1, facts.leaf);
  gauges.set('probe_tls_version_info', 1, { version: facts.version });
}

function earliestOf(expiries: readonly number[]): number {
  return expiries.length === 0 ? NO_MOMENT : Math.min(...expiries);
}

/** Returns the expiry of each certificate that the server sent, needed for the chain or not, in Unix seconds. */
function sentExpiries(leaf: X509Certificate): number[] {
  const expiries: number[] = [];
  // Node's `issuerCertificate` is the next one that was sent.
  for (let sent: X509Certificate | undefined = leaf; sent !== undefined; sent = sent.issuerCertificate)
    expiries.push(Math.floor(sent.validToDate.getTime() / 1000));
  return expiries;
}

/** Returns the same for a certificate and its issuers, up to the trusted authority. */
function chainExpiries(leaf: DetailedPeerCertificate): number[] {
  const expiries: number[] = [];
  const seen = new Set<string>();
  let certificate: DetailedPeerCertificate | undefined = leaf;
  while (certificate?.valid_to !== undefined && !seen.has(certificate.fingerprint256)) {
    seen.add(certificate.fingerprint256);
    expiries.push(Math.floor(Date.parse(certificate.valid_to) / 1000));
    certificate = certificate.issuerCertificate;
  }
  return expiries;
}

/** Returns a distinguished name with its last part first, as RFC 2253 and Go write it. */
function nameOf(name: string | undefined): string {
  return (name ?? '').split('\n').toReversed().join(',');
}

function alternativesOf({ subjectAltName }: X509Certificate): string {
  return [...(subjectAltName ?? '').matchAll(/DNS:([^,]+)/g)].map(([, name]) => name).join(',');
}
