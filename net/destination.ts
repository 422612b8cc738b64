import { constants } from 'node:crypto';
import net, { type LookupFunction, type Socket } from 'node:net';
import tls, { type SecureContext, type SecureContextOptions } from 'node:tls';
import { isRefusedAddress, type Guard } from './address-guard.ts';
import { ADDRESS_ATTEMPT_MS, createGuardedLookup } from './host-address.ts';

/** Where a connection goes and how it is made, in the words of `net.connect` and `tls.connect`. */
export type Destination = {
  host: string;
  port: number;
  /** False where the host is an address, which nothing looks up. */
  isNamed: boolean;
  isSecure: boolean;
  noDelay: true;
  autoSelectFamilyAttemptTimeout: number;
  lookup: LookupFunction;
  secureContext?: SecureContext;
  servername?: string;
  ALPNProtocols?: string[];
};

/** Finds the destination of an http or https URL; null where the guard refuses it by its address. */
export type FindDestination = (url: URL) => Destination | null;

/** Makes the one function that turns URLs into destinations, as far as the guard lets them pass (D-30). */
export function createDestinations(guard: Guard): FindDestination {
  const lookup = createGuardedLookup(guard);
  // A context costs 0.2 ms and holds nothing of a connection, so that all of them share one.
  let secureContext: SecureContext | undefined;

  return (url) => {
    // The URL parser has brought every numeric form of an address (octal, hexadecimal, short, with a dot at the end) to
    // its usual one, and only an IPv6 address has brackets.
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
      // An address is no server name (RFC 6066); the certificate is held against the host then.
      if (isNamed) destination.servername = withoutFinalDot(host);
    }
    return destination;
  };
}

/**
 * Makes a context for connections to servers that others name. By DHE a server may choose a group of 10,000 bits, which
 * takes a second to compute, and by renegotiation it repeats the handshake as often as it likes: neither is offered.
 */
export function createClientContext(options: SecureContextOptions = {}): SecureContext {
  const ciphers = `${tls.DEFAULT_CIPHERS}:!DHE`;
  return tls.createSecureContext({ ...options, ciphers, secureOptions: constants.SSL_OP_NO_RENEGOTIATION });
}

/** Begins a fresh connection. */
export function connect(destination: Destination): Socket {
  return destination.isSecure ? tls.connect(destination) : net.connect(destination);
}

function portOf({ port, protocol }: URL): number {
  if (port !== '') return Number(port);
  return protocol === 'https:' ? 443 : 80;
}

function withoutFinalDot(host: string): string {
  return host.endsWith('.') ? host.slice(0, -1) : host;
}
