/** Types of the used part of the package, which has none. */
declare module 'proxy-addr' {
  import type { IncomingMessage } from 'node:http';

  /** Gets an address and its distance from this server in hops. */
  type Trust = (address: string, hop: number) => boolean;

  const proxyAddr: {
    /** Accepts addresses, ranges and the package's own names; throws a `TypeError` for anything else, and for none. */
    compile: (ranges: readonly string[]) => Trust;
    /**
     * Returns the addresses that a request came through, nearest first, up to the first untrusted one. The address of a
     * closed connection is undefined.
     */
    all: (request: IncomingMessage, trust: Trust) => (string | undefined)[];
  };
  export default proxyAddr;
}
