import { constants } from 'node:crypto';
import net, { type LookupFunction, type Socket } from 'node:net';
import tls, { type SecureContext, type SecureContextOptions } from 'node:tls';
import { isRefusedAddress, type Guard } from './address-guard.ts';
import { ADDRESS_ATTEMPT_MS, createGuardedLookup } from './host-address.ts';

/** Address and options of a connection, as `net.connect` and `tls.connect` take them. */
export type Destination = {
  host: string;
  port: number;
  /** False if the host is an address, which needs no lookup. */
  isNamed: boolean;
  isSecure: boolean;
  noDelay: true;
  autoSelectFamilyAttemptTimeout: number;
  lookup: LookupFunction;
  secureContext?: SecureContext;
  servername?: string;
  ALPNProtocols?: string[];
};

/** Returns the destination of an http or https URL; null if the guard refuses its address. */
type FindDestination = (url: URL) => Destination | null;

/** Creates the function that turns URLs into destinations, subject to the guard (D-30). */
export function createDestinations(guard: Guard): FindDestination {
  const lookup = createGuardedLookup(guard);
  // A context takes 0.2 ms to create and holds no state of a connection, so all connections share one.
  let secureContext: SecureContext | undefined;

  return (url) => {
    // The URL parser has normalized every numeric form of an address (octal, hexadecimal, short, with a trailing dot),
    // and only an IPv6 address has brackets.
    const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
    const isNamed = net.isIP(host) === 0;
    if (isRefusedAddress(host, guard)) return null;

    const isSecure = url.protocol === 'https:';
    const port = portOf(url);
    const patience = { noDelay: true, autoSelectFamilyAttemptTimeout: ADDRESS_ATTEMPT_MS } as const;
    const destination: Destination = { host, port, isNamed, isSecure, ...patience, lookup };
    if (isSecure) {
      secureContext ??= createClientContext();
      destination.secureContext = secureContext;
      destination.ALPNProtocols = ['http/1.1'];
      // An address is not a server name (RFC 6066); the certificate is then checked against the host.
      if (isNamed) destination.servername = withoutFinalDot(host);
    }
    return destination;
  };
}

/**
 * Creates a TLS context for connections to servers that users name. With DHE a server could choose a group of 10,000
 * bits, which takes a second to compute, and with renegotiation repeat the handshake at will: neither is offered.
 */
export function createClientContext(options: SecureContextOptions = {}): SecureContext {
  const ciphers = `${tls.DEFAULT_CIPHERS}:!DHE`;
  return tls.createSecureContext({ ...options, ciphers, secureOptions: constants.SSL_OP_NO_RENEGOTIATION });
}

/** Opens a fresh connection. */
export function connect(destination: Destination): Socket {
  return destination.isSecure ? tls.connect(destination) : net.connect(destination);
}

/** Returns the port of an http or https URL. */
export function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

function withoutFinalDot(host: string): string {
  return host.endsWith('.') ? host.slice(0, -1) : host;
}
