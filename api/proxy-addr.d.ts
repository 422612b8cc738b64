/** The package brings no types; here are those of what is used of it. */
declare module 'proxy-addr' {
  import type { IncomingMessage } from 'node:http';

  /** Given an address and how many hops it is away from us. */
  type Trust = (address: string, hop: number) => boolean;

  const proxyAddr: {
    /** Of addresses, ranges and its own words; throws a `TypeError` at anything else, and at none. */
    compile: (ranges: readonly string[]) => Trust;
    /**
     * The addresses that a request says it came by, ours first, up to the first that is not trusted. That of a
     * connection which is gone is undefined.
     */
    all: (request: IncomingMessage, trust: Trust) => (string | undefined)[];
  };
  export default proxyAddr;
}
