import dns from 'node:dns';
import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { isPublicAddress } from './address-guard.ts';

/** The code of the error with which a look-up ends when a name has addresses, but no public one. */
export const BLOCKED_CODE = 'ERR_ADDRESS_BLOCKED';

/** A `lookup` for sockets that hands on only public addresses (D-30). The socket connects to what it is given here, so a name that changes its addresses between a check and the connection gains nothing. */
export const guardedLookup: LookupFunction = (hostname, options, callback) => {
  dns.lookup(hostname, { ...options, all: true }, (error, addresses) => {
    if (error !== null) {
      callback(error, []);
      return;
    }
    const allowed = addresses.filter(({ address }) => isPublicAddress(address));
    const [first] = allowed;
    if (first === undefined) callback(blockedError(hostname, addresses), []);
    else if (options.all) callback(null, allowed);
    else callback(null, first.address, first.family);
  });
};

function blockedError(hostname: string, addresses: readonly LookupAddress[]): NodeJS.ErrnoException {
  return Object.assign(new Error(`none of the ${addresses.length} addresses of ${hostname} is public`), { code: BLOCKED_CODE });
}
