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
  /** Null = the host of the target. */
  serverName: string | null;
  isVerified: boolean;
};

/** The text of the file that a key names; null where the key is absent or, with a problem reported, unreadable. */
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

/** Reads a `tls_config`. Certificates and keys are read now; one that is no certificate is a problem of the file. */
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
    // An authority that is no certificate would be passed over in silence: this throws.
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

/** How a connection is secured, in the words of `tls.connect`. */
export type Secured = Pick<
  ConnectionOptions,
  'secureContext' | 'rejectUnauthorized' | 'servername' | 'checkServerIdentity'
>;

/** How a connection is secured. The certificate is held against `serverName`, as Go does: by its alternative names. */
export function securedBy({ context, isVerified }: TlsSettings, serverName: string): Secured {
  return {
    secureContext: context,
    rejectUnauthorized: isVerified,
    // An address is no server name (RFC 6066).
    ...(isIP(serverName) === 0 && { servername: serverName }),
    checkServerIdentity: (_host, certificate) =>
      certificate.subjectaltname === undefined
        ? new Error('The certificate has no alternative names')
        : tls.checkServerIdentity(serverName, certificate),
  };
}

/** Go's moment of no moment, in Unix seconds: what blackbox_exporter says of a chain that it did not verify. */
const NO_MOMENT = -62_135_596_800;

/** What blackbox_exporter says of a secured connection; moments in Unix seconds. */
export type TlsFacts = {
  earliestExpiry: number;
  verifiedExpiry: number;
  version: string;
  leaf: Readonly<Record<string, string>>;
};

/** Reads them; null before the handshake and after the connection was closed. */
export function readTlsFacts(socket: TLSSocket, { rejectUnauthorized }: Secured): TlsFacts | null {
  // In this order and once: in Node 24 nothing is answered after the second question.
  const chain = socket.getPeerCertificate(true);
  const leaf = socket.getPeerX509Certificate();
  if (leaf === undefined) return null;
  // Also what `insecure_skip_verify` lets pass unseen may be authorized.
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

/** Sets the gauges of a secured connection. */
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

/** When the certificates that the server sent expire, in Unix seconds: each, whether the chain needs it or not. */
function sentExpiries(leaf: X509Certificate): number[] {
  const expiries: number[] = [];
  // What Node calls the issuer is the next one that was sent.
  for (let sent: X509Certificate | undefined = leaf; sent !== undefined; sent = sent.issuerCertificate)
    expiries.push(Math.floor(sent.validToDate.getTime() / 1000));
  return expiries;
}

/** The same of a certificate and its issuers, up to the authority that is trusted. */
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

/** A distinguished name with its last part first, as RFC 2253 and Go write it. */
function nameOf(name: string | undefined): string {
  return (name ?? '').split('\n').toReversed().join(',');
}

function alternativesOf({ subjectAltName }: X509Certificate): string {
  return [...(subjectAltName ?? '').matchAll(/DNS:([^,]+)/g)].map(([, name]) => name).join(',');
}
