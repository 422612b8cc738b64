import dns, { type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isRefusedAddress, type Guard } from './address-guard.ts';

/** The code of the error with which a lookup ends when a name has addresses, but none that may be contacted. */
export const BLOCKED_CODE = 'ERR_ADDRESS_BLOCKED';

/**
 * Makes a `lookup` for sockets that hands on only addresses that may be contacted (D-30). The socket connects to what
 * it is given here, so a name that changes its addresses between a check and the connection gains nothing.
 */
export function createGuardedLookup(guard: Guard): LookupFunction {
  return (hostname, options, callback) => {
    dns.lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) {
        callback(error, []);
        return;
      }
      const allowed = addresses.filter(({ address }) => !isRefusedAddress(address, guard));
      const [first] = allowed;
      if (first === undefined) callback(blockedError(hostname, addresses), []);
      else if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };
}

function blockedError(hostname: string, addresses: readonly LookupAddress[]): NodeJS.ErrnoException {
  const message = `none of the ${addresses.length} addresses of ${hostname} may be contacted`;
  return Object.assign(new Error(message), { code: BLOCKED_CODE });
}
